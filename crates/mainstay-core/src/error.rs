//! The one error type. It says why, never with what number: numbers belong to each dialect.

use std::borrow::Cow;

use serde_json::Value;

use crate::Question;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call did not give a reply. Each dialect maps every kind to its own code in one exhaustive table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The arguments break the tool's schema or its rules.
    Invalid,
    /// No tool, resource or prompt has this name.
    Unknown,
    /// The name is known, but the thing it asks for is not there.
    NotFound,
    /// The caller may not do this.
    Denied,
    /// The caller is not known.
    Unauthorized,
    /// A person has to approve this first.
    ConsentRequired,
    /// The caller has used up its share; `data` says when to come back.
    RateLimited,
    /// The state is not what the caller thought it was.
    Conflict,
    /// The request or its result is larger than allowed.
    TooLarge,
    /// Something this call needs is not working now.
    Unavailable,
    /// The caller asked to stop.
    Cancelled,
    /// The call ran into its deadline.
    TimedOut,
    /// This server, or this client, cannot do it at all.
    Unsupported,
    /// The call cannot go on until questions are answered; see [`Error::asked`].
    InputRequired,
    /// A fault of ours.
    Internal,
}

impl Kind {
    pub const ALL: [Self; 15] = [
        Self::Invalid,
        Self::Unknown,
        Self::NotFound,
        Self::Denied,
        Self::Unauthorized,
        Self::ConsentRequired,
        Self::RateLimited,
        Self::Conflict,
        Self::TooLarge,
        Self::Unavailable,
        Self::Cancelled,
        Self::TimedOut,
        Self::Unsupported,
        Self::InputRequired,
        Self::Internal,
    ];

    /// The word used in logs, metrics and audit rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Unauthorized => "unauthorized",
            Self::ConsentRequired => "consent_required",
            Self::RateLimited => "rate_limited",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Unsupported => "unsupported",
            Self::InputRequired => "input_required",
            Self::Internal => "internal",
        }
    }
}

/// Questions a call left open, to be answered when it is made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub questions: Vec<(String, Question)>,
    /// What the tool wants to find again beside the answers.
    pub state: Value,
}

/// A failure with a line for the caller and a detail for the operator.
///
/// `public` crosses the wire; `detail` goes to the log with the request's id and nowhere else.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{public}")]
pub struct Error {
    pub kind: Kind,
    pub public: Cow<'static, str>,
    pub detail: Option<String>,
    pub data: Option<Box<Value>>,
    pub asked: Option<Box<Asked>>,
}

impl Error {
    pub fn new(kind: Kind, public: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, public: public.into(), detail: None, data: None, asked: None }
    }

    pub fn invalid(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Invalid, public)
    }

    /// One argument is wrong: which, and why.
    pub fn field(field: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        let reason = reason.into();
        let data = serde_json::json!({ "field": field, "reason": reason });
        Self::invalid(reason).with_data(data)
    }

    pub fn unknown(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Unknown, public)
    }

    pub fn not_found(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::NotFound, public)
    }

    pub fn denied(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Denied, public)
    }

    pub fn unavailable(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Unavailable, public)
    }

    /// A fault of ours: the caller learns that it happened, the log learns what.
    pub fn internal(detail: impl std::fmt::Display) -> Self {
        Self::new(
            Kind::Internal,
            "The server failed to complete this call; its log has the details under this request id.",
        )
        .with_detail(detail)
    }

    pub fn input_required(asked: Asked) -> Self {
        let mut error = Self::new(Kind::InputRequired, "This call needs answers before it can go on.");
        error.asked = Some(Box::new(asked));
        error
    }

    pub fn with_detail(mut self, detail: impl std::fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }
}
