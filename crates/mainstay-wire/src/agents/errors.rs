//! The contract's ten error codes, and the HTTP status and headers of each.

use jiff::Timestamp;
use mainstay_core::{Error, Kind, Reason, Reply};
use serde_json::{Value, json};

use crate::content::texts;
use crate::error::{ErrorResponse, HttpError};
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Refusal};
use crate::reason::reason;

/// The contract's own codes, besides those of JSON-RPC.
const SERVER_ERROR: i32 = -32000;
const UNAUTHORIZED: i32 = -32001;
const RATE_LIMITED: i32 = -32002;
const CONSENT_REQUIRED: i32 = -32003;
const ACCESS_DENIED: i32 = -32004;

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

/// An error with the status of its code. The contract shows the rate limit error with a null id.
fn response(code: i32, message: impl Into<String>, data: Option<Value>) -> ErrorResponse {
    let http = HttpError { status: status(code), without_id: code == RATE_LIMITED, headers: Vec::new() };
    ErrorResponse { http, ..ErrorResponse::new(code, message.into(), data) }
}

/// The private detail stays behind; the reason becomes the data. `operation` is what needs consent.
pub(super) fn of_error(error: &Error, operation: &str, now: Timestamp) -> ErrorResponse {
    let (code, title) = numbered(error.kind);
    match error.reason.as_deref() {
        Some(Reason::RateLimited { limit, retry_after }) => {
            rate_limited(title.to_owned(), u64::from(*limit), *retry_after, now)
        }
        Some(Reason::QueueFull { queue }) => {
            rate_limited(titled(title, &error.public), *queue, error.retry_after().unwrap_or(1), now)
        }
        Some(consent @ Reason::ConsentNeeded { .. }) => {
            response(code, format!("{title} for {operation}"), reason(consent))
        }
        other => {
            let mut response = response(code, titled(title, &error.public), other.and_then(reason));
            // Every 429 says when to try again.
            response.http.headers = error.retry_after().map(retry_after_header).into_iter().collect();
            response
        }
    }
}

fn retry_after_header(seconds: u64) -> (&'static str, String) {
    ("retry-after", seconds.to_string())
}

/// The same numbers are in the data and in the headers.
fn rate_limited(message: String, limit: u64, retry_after: u64, now: Timestamp) -> ErrorResponse {
    // In seconds of Unix time.
    let reset = now.as_second().saturating_add_unsigned(retry_after);
    let data = json!({"retry_after": retry_after, "limit": limit, "remaining": 0, "reset": reset});
    let mut error = response(RATE_LIMITED, message, Some(data));
    error.http.headers = vec![
        retry_after_header(retry_after),
        ("x-ratelimit-limit", limit.to_string()),
        ("x-ratelimit-remaining", "0".to_owned()),
        ("x-ratelimit-reset", reset.to_string()),
    ];
    error
}

/// HTTP rejects the request with a status of its own before a message is read. The code is that of the status.
pub(super) fn of_status(status: u16, reason: &str) -> ErrorResponse {
    if status == 401 {
        let error = Error::new(Kind::Unauthorized, "Send an access token for this server as a Bearer token.");
        return of_error(&error, "", Timestamp::UNIX_EPOCH);
    }
    let (code, title) = match status {
        403 => numbered(Kind::Denied),
        404 => numbered(Kind::NotFound),
        429 => numbered(Kind::RateLimited),
        500 => numbered(Kind::Internal),
        501.. => numbered(Kind::Unavailable),
        _ => (INVALID_REQUEST, "Invalid Request"),
    };
    let mut error = response(code, titled(title, reason), None);
    error.http.status = status;
    error
}

/// Bytes that are no message.
pub(super) fn of_frame(refusal: &Refusal) -> ErrorResponse {
    let title = match refusal.code {
        PARSE_ERROR => "Parse error",
        INVALID_REQUEST => "Invalid Request",
        _ => "Invalid params",
    };
    response(refusal.code, titled(title, &refusal.message), None)
}

/// The params of a known method cannot be read.
pub(super) fn of_params(reason: String) -> ErrorResponse {
    of_error(&Error::field("params", reason), "", Timestamp::UNIX_EPOCH)
}

/// The tool ran and reports itself that it failed.
pub(super) fn of_failed_reply(reply: &Reply) -> ErrorResponse {
    response(SERVER_ERROR, titled("Server error", &texts(&reply.content)), None)
}

/// `Title: what happened`, unless what happened begins with the title.
fn titled(title: &str, text: &str) -> String {
    if text.starts_with(title) { text.to_owned() } else { format!("{title}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(error: &ErrorResponse) -> Value {
        serde_json::from_str(&error.to_json()).unwrap()
    }

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
            let fault = of_error(&Error::new(kind, "why").with_detail("secret"), "", Timestamp::UNIX_EPOCH);
            assert_eq!((fault.code, fault.http.status), expected(kind), "{kind:?}");
            assert!(fault.message.ends_with(": why"), "{}", fault.message);
            assert!(!fault.to_json().contains("secret"), "{kind:?}");
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
        assert_eq!(parsed(&of_error(&error, "resources/read", Timestamp::UNIX_EPOCH)), expected);
        assert_eq!(of_error(&Error::not_found("gone"), "", Timestamp::UNIX_EPOCH).data, None);
    }

    #[test]
    fn whatever_is_refused_for_its_rate_says_when_to_retry_and_too_many_consents_are_not_a_rate() {
        let now = Timestamp::from_second(1_758_202_648).unwrap();
        let refused = |reason: Option<Reason>| {
            let error = Error::new(Kind::RateLimited, "Later.");
            of_error(&reason.map_or(error.clone(), |reason| error.with_reason(reason)), "tools/list", now)
        };
        let reasons = [Reason::RateLimited { limit: 100, retry_after: 30 }, Reason::QueueFull { queue: 1024 }];
        for fault in reasons.into_iter().map(Some).chain([None]).map(refused) {
            assert_eq!((fault.code, fault.http.status), (-32002, 429));
            assert!(fault.http.headers.iter().any(|(name, _)| *name == "retry-after"), "{fault:?}");
        }
        let full = refused(Some(Reason::QueueFull { queue: 1024 }));
        let data = json!({"retry_after": 1, "limit": 1024, "remaining": 0, "reset": 1_758_202_649});
        assert_eq!((full.data, full.message.as_ref()), (Some(data), "Rate limit exceeded: Later."));

        let pending = Reason::PendingConsents {
            pending: 50,
            id: "c-1".into(),
            url: "/api/mcp/consent/c-1".into(),
            operation: "delete_all_data".into(),
            expires_ms: 1_758_191_400_000,
        };
        let fault = of_error(&Error::new(Kind::ConsentRequired, "50 wait.").with_reason(pending), "tools/call", now);
        let data = json!({"pending": 50, "consent_id": "c-1", "consent_url": "/api/mcp/consent/c-1",
            "operation": "delete_all_data", "expires_at": "2025-09-18T10:30:00Z"});
        assert_eq!((fault.code, fault.http.status, fault.data), (-32003, 403, Some(data)));
        assert_eq!((fault.message.as_ref(), fault.http.without_id), ("Consent required: 50 wait.", false));
    }

    #[test]
    fn a_denial_carries_the_reason_of_the_person() {
        let reason = Some("not on a Friday".to_owned());
        let denied = Reason::ConsentDenied { id: "c-1".into(), reason, expires_ms: 1_758_191_400_000 };
        let fault = of_error(&Error::denied("Denied.").with_reason(denied), "x", Timestamp::UNIX_EPOCH);
        let data = json!({"consent_id": "c-1", "reason": "not on a Friday", "expires_at": "2025-09-18T10:30:00Z"});
        assert_eq!((fault.code, fault.data), (-32004, Some(data)));
    }

    #[test]
    fn a_limit_and_a_consent_are_told_in_the_contracts_words() {
        let now = Timestamp::from_second(1_758_202_648).unwrap();
        let carried = Reason::RateLimited { limit: 100, retry_after: 30 };
        let limited = Error::new(Kind::RateLimited, "Later.").with_reason(carried);
        let fault = of_error(&limited, "tools/list", now);
        let data = json!({"retry_after": 30, "limit": 100, "remaining": 0, "reset": 1_758_202_678});
        assert_eq!(parsed(&fault), json!({"code": -32002, "message": "Rate limit exceeded", "data": data}));
        assert!(fault.http.without_id);
        let headers: Vec<String> = fault.http.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected =
            ["retry-after: 30", "x-ratelimit-limit: 100", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 1758202678"];
        assert_eq!(headers, expected);

        let data = json!({"consent_id": "c-1", "consent_url": "/api/mcp/consent/c-1", "operation": "delete_all_data",
            "expires_at": "2025-09-18T10:30:00Z"});
        let needed = Reason::ConsentNeeded {
            id: "c-1".into(),
            url: "/api/mcp/consent/c-1".into(),
            operation: "delete_all_data".into(),
            expires_ms: 1_758_191_400_000,
        };
        let asked = Error::new(Kind::ConsentRequired, "A person has to approve this.").with_reason(needed);
        let fault = of_error(&asked, "delete_all_data", now);
        let expected = json!({"code": -32003, "message": "Consent required for delete_all_data", "data": data});
        assert_eq!(parsed(&fault), expected);
        assert!(fault.http.headers.is_empty() && !fault.http.without_id);
    }
}
