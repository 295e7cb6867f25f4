//! The one error type. It has a kind and a reason, never a number: error codes belong to the dialects.

mod reason;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{OpenQuestions, Scope};

pub use reason::{CacheFailure, Problem, Reason};

pub type Result<T, E = Error> = std::result::Result<T, E>;

string_enum! {
    /// Why a call did not give a reply. Each dialect maps every kind to its own code in one exhaustive table. The words
    /// are those of logs, metrics and audit rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        /// The arguments break the tool's schema or its rules.
        Invalid = "invalid",
        /// No tool, resource or prompt has this name.
        Unknown = "unknown",
        /// The name is known, but the thing it asks for is not there.
        NotFound = "not_found",
        /// The caller may not do this.
        Denied = "denied",
        /// The caller is not known.
        Unauthorized = "unauthorized",
        /// A person has to approve this first.
        ConsentRequired = "consent_required",
        /// The caller has used up its quota; the reason says when to retry.
        RateLimited = "rate_limited",
        /// The state is not what the caller thought it was.
        Conflict = "conflict",
        /// The request or its result is larger than allowed.
        TooLarge = "too_large",
        /// Something this call needs is not working now.
        Unavailable = "unavailable",
        /// The caller asked to stop.
        Cancelled = "cancelled",
        /// The call ran into its deadline.
        TimedOut = "timed_out",
        /// This server, or this client, cannot do it at all.
        Unsupported = "unsupported",
        /// The call cannot go on until questions are answered: [`Reason::Questions`].
        InputRequired = "input_required",
        /// A fault of ours. Also what a kind is read as that only another version of this program knows.
        #[serde(other)]
        Internal = "internal",
    }
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
    /// For programs; boxed to keep `Result<T, Error>` small.
    pub reason: Option<Box<Reason>>,
}

impl Error {
    pub fn new(kind: Kind, public: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, public: public.into(), detail: None, reason: None }
    }

    pub fn invalid(public: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Invalid, public)
    }

    /// One argument is wrong: which, and why.
    pub fn field(field: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        let reason = reason.into();
        let typed = Reason::Field { field: field.to_owned(), reason: Some(reason.to_string()) };
        Self::invalid(reason).with_reason(typed)
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
        let line = "The server failed to complete this call; its log has the details under this request id.";
        Self::new(Kind::Internal, line).with_detail(detail)
    }

    /// The call has to be made again with answers to these questions.
    pub fn input_required(open: OpenQuestions) -> Self {
        Self::new(Kind::InputRequired, "This call needs answers before it can go on.")
            .with_reason(Reason::Questions(open))
    }

    pub fn with_detail(mut self, detail: impl std::fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    pub fn with_reason(mut self, reason: Reason) -> Self {
        self.reason = Some(Box::new(reason));
        self
    }

    /// The argument or header the error is about, if it names one.
    pub fn field_name(&self) -> Option<&str> {
        match self.reason.as_deref() {
            Some(Reason::Field { field, .. }) => Some(field),
            _ => None,
        }
    }

    /// Gives the field another name; for callers that pass an argument on under a name of their own.
    pub fn rename_field(&mut self, rename: impl FnOnce(&str) -> String) {
        if let Some(Reason::Field { field, .. }) = self.reason.as_deref_mut() {
            *field = rename(field);
        }
    }

    /// The scope the caller's token lacks, if that is the reason.
    pub fn missing_scope(&self) -> Option<Scope> {
        match self.reason.as_deref() {
            Some(Reason::MissingScope(scope)) => Some(*scope),
            _ => None,
        }
    }

    /// Takes out the questions that have to be answered first, if that is the reason.
    pub fn take_questions(&mut self) -> Option<OpenQuestions> {
        match self.reason.take().map(|reason| *reason) {
            Some(Reason::Questions(open)) => Some(open),
            other => {
                self.reason = other.map(Box::new);
                None
            }
        }
    }
}

impl CacheFailure {
    /// The failure that an error was made with; an error without one is a fault of ours.
    pub fn of(error: &Error) -> Self {
        match error.reason.as_deref() {
            Some(Reason::Cache(failure)) => *failure,
            _ => Self::Internal,
        }
    }

    /// An error with this failure as its reason.
    pub fn error(self, public: impl Into<String>) -> Error {
        let kind = match self {
            Self::CacheMissing => Kind::NotFound,
            Self::CacheInvalid | Self::Io => Kind::Unavailable,
            Self::InvalidQuery | Self::InvalidBudget => Kind::Invalid,
            Self::Internal => Kind::Internal,
        };
        Error::new(kind, public.into()).with_reason(Reason::Cache(self))
    }

    /// The same, keeping the detail of the underlying error for the log.
    pub fn because(self, public: impl Into<String>, cause: &Error) -> Error {
        let detail = cause.detail.as_deref().map_or_else(|| cause.public.to_string(), str::to_owned);
        self.error(public).with_detail(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_failure_of_an_error_is_found_again() {
        for failure in CacheFailure::ALL {
            assert_eq!(CacheFailure::of(&failure.error("x")), failure);
        }
        assert_eq!(CacheFailure::of(&Error::internal("x")), CacheFailure::Internal);
        assert_eq!(CacheFailure::of(&Error::invalid("x")), CacheFailure::Internal);
    }
}
