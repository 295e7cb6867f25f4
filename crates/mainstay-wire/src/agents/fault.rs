//! From reasons to the contract's ten codes, and to the status each has over HTTP.

use jiff::Timestamp;
use mainstay_core::{Error, Kind, Reason, Reply};
use serde_json::{Value, json};

use crate::content::texts;
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Refusal};
use crate::reason;

const SERVER_ERROR: i32 = -32000;
const UNAUTHORIZED: i32 = -32001;
const RATE_LIMITED: i32 = -32002;
const CONSENT_REQUIRED: i32 = -32003;
const ACCESS_DENIED: i32 = -32004;

/// The error member of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub code: i32,
    /// Of the HTTP response that carries it.
    pub status: u16,
    pub message: String,
    pub data: Option<Value>,
    /// Where a quota is used up.
    pub quota: Option<Box<QuotaStatus>>,
}

/// What is left of a client's quota; the same numbers are in the error's data and in the HTTP headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStatus {
    /// In seconds.
    pub retry_after: u64,
    pub limit: u32,
    pub remaining: u32,
    /// In seconds of Unix time.
    pub reset: i64,
}

/// The contract's table.
const fn numbered(kind: Kind) -> (i32, &'static str) {
    match kind {
        Kind::Invalid | Kind::Unknown | Kind::NotFound => (INVALID_PARAMS, "Invalid params"),
        Kind::Unauthorized => (UNAUTHORIZED, "Unauthorized"),
        Kind::RateLimited => (RATE_LIMITED, "Rate limit exceeded"),
        Kind::ConsentRequired => (CONSENT_REQUIRED, "Consent required"),
        Kind::Denied => (ACCESS_DENIED, "Access denied"),
        Kind::Conflict
        | Kind::TooLarge
        | Kind::Unavailable
        | Kind::Cancelled
        | Kind::TimedOut
        | Kind::Unsupported
        | Kind::InputRequired => (SERVER_ERROR, "Server error"),
        Kind::Internal => (INTERNAL_ERROR, "Internal error"),
    }
}

const fn status(code: i32) -> u16 {
    match code {
        UNAUTHORIZED => 401,
        CONSENT_REQUIRED | ACCESS_DENIED => 403,
        RATE_LIMITED => 429,
        SERVER_ERROR | INTERNAL_ERROR => 500,
        _ => 400,
    }
}

impl Fault {
    fn new(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self { code, status: status(code), message: message.into(), data, quota: None }
    }

    /// The private detail stays behind; what the error carries for programs goes along.
    pub fn of(error: &Error) -> Self {
        let (code, title) = numbered(error.kind);
        Self::new(code, titled(title, &error.public), error.reason.as_deref().map(reason))
    }

    /// The same for an error that says when to come back or whom to ask, as the contract words these.
    pub fn called(error: &Error, operation: &str, now: Timestamp) -> Self {
        let (code, title) = numbered(error.kind);
        match error.reason.as_deref() {
            Some(Reason::RateLimited { limit, retry_after }) => {
                let reset = now.as_second().saturating_add_unsigned(*retry_after);
                let quota = QuotaStatus { retry_after: *retry_after, limit: *limit, remaining: 0, reset };
                Self { quota: Some(Box::new(quota)), ..Self::new(code, title, Some(quota.to_json())) }
            }
            Some(consent @ Reason::ConsentNeeded { .. }) => {
                Self::new(code, format!("{title} for {operation}"), Some(reason(consent)))
            }
            _ => Self::of(error),
        }
    }

    /// `shown` is the method's name as it may be shown.
    pub(super) fn no_method(shown: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"), None)
    }

    /// HTTP itself says why no message was read, with a status of its own.
    pub fn unread(status: u16, reason: &str) -> Self {
        Self { status, ..Self::new(INVALID_REQUEST, titled("Invalid Request", reason), None) }
    }

    pub(super) fn frame(refusal: &Refusal) -> Self {
        let title = match refusal.code {
            PARSE_ERROR => "Parse error",
            INVALID_REQUEST => "Invalid Request",
            _ => "Invalid params",
        };
        Self::new(refusal.code, titled(title, &refusal.message), None)
    }

    /// The tool ran, and says itself that it failed.
    pub(super) fn failed(reply: &Reply) -> Self {
        Self::new(SERVER_ERROR, titled("Server error", &texts(&reply.content)), None)
    }

    /// A request whose sender is not known; it was not looked at.
    pub fn unauthorized() -> Self {
        Self::of(&Error::new(Kind::Unauthorized, "Send an access token for this server as a Bearer token."))
    }

    /// As a member of a response.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }

    /// Whether the contract has this one answered without the request's id.
    pub const fn is_anonymous(&self) -> bool {
        self.code == RATE_LIMITED
    }
}

impl QuotaStatus {
    fn to_json(self) -> Value {
        json!({
            "retry_after": self.retry_after,
            "limit": self.limit,
            "remaining": self.remaining,
            "reset": self.reset,
        })
    }
}

/// `Title: what happened`, unless what happened begins with the title.
fn titled(title: &str, text: &str) -> String {
    if text.starts_with(title) { text.to_owned() } else { format!("{title}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code_and_its_status() {
        let expected = |kind| match kind {
            Kind::Invalid | Kind::Unknown | Kind::NotFound => (-32602, 400),
            Kind::Unauthorized => (-32001, 401),
            Kind::RateLimited => (-32002, 429),
            Kind::ConsentRequired => (-32003, 403),
            Kind::Denied => (-32004, 403),
            Kind::Internal => (-32603, 500),
            Kind::Conflict
            | Kind::TooLarge
            | Kind::Unavailable
            | Kind::Cancelled
            | Kind::TimedOut
            | Kind::Unsupported
            | Kind::InputRequired => (-32000, 500),
        };
        for kind in Kind::ALL {
            let fault = Fault::of(&Error::new(kind, "why").with_detail("secret"));
            assert_eq!((fault.code, fault.status), expected(kind), "{kind:?}");
            assert!(fault.message.ends_with(": why"), "{}", fault.message);
            assert!(!fault.to_json().to_string().contains("secret"), "{kind:?}");
        }
    }

    #[test]
    fn what_an_error_carries_for_programs_goes_along() {
        let data = json!({"uri": "file://../../etc/passwd", "reason": "path_traversal_attempt"});
        let reason = Some("path_traversal_attempt".into());
        let error = Error::denied("Access denied: Path outside project directory")
            .with_reason(Reason::Resource { uri: "file://../../etc/passwd".into(), reason });
        let expected =
            json!({"code": -32004, "message": "Access denied: Path outside project directory", "data": data});
        assert_eq!(Fault::called(&error, "resources/read", Timestamp::UNIX_EPOCH).to_json(), expected);
        assert!(Fault::of(&Error::not_found("gone")).to_json().get("data").is_none());
    }

    #[test]
    fn a_limit_and_a_consent_are_told_in_the_contracts_words() {
        let now = Timestamp::from_second(1_758_202_648).unwrap();
        let carried = Reason::RateLimited { limit: 100, retry_after: 30 };
        let limited = Error::new(Kind::RateLimited, "Later.").with_reason(carried);
        let fault = Fault::called(&limited, "tools/list", now);
        let data = json!({"retry_after": 30, "limit": 100, "remaining": 0, "reset": 1_758_202_678});
        assert_eq!(fault.to_json(), json!({"code": -32002, "message": "Rate limit exceeded", "data": data}));
        assert!(fault.is_anonymous());
        let left = QuotaStatus { retry_after: 30, limit: 100, remaining: 0, reset: 1_758_202_678 };
        assert_eq!(fault.quota.as_deref(), Some(&left));

        let data = json!({"consent_id": "c-1", "consent_url": "/api/mcp/consent/c-1", "operation": "delete_all_data",
            "expires_at": "2025-09-18T10:30:00Z"});
        let needed = Reason::ConsentNeeded {
            id: "c-1".into(),
            url: "/api/mcp/consent/c-1".into(),
            operation: "delete_all_data".into(),
            expires_ms: 1_758_191_400_000,
        };
        let asked = Error::new(Kind::ConsentRequired, "A person has to approve this.").with_reason(needed);
        let fault = Fault::called(&asked, "delete_all_data", now);
        let expected = json!({"code": -32003, "message": "Consent required for delete_all_data", "data": data});
        assert_eq!(fault.to_json(), expected);
        assert_eq!((fault.quota, fault.is_anonymous()), (None, false));
    }
}
