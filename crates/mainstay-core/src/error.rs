//! The one error type. It has a kind and a reason, never a number: error codes belong to the dialects.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{OpenQuestions, PlannedChange, Scope};

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

impl Kind {
    /// Whether a tool that fails this way has changed nothing, so that the same call may succeed once what stood in its
    /// way is gone. What was cut off or is our own fault may have happened in part.
    pub const fn changed_nothing(self) -> bool {
        // A database that is away may have committed before it went.
        !matches!(self, Self::Cancelled | Self::TimedOut | Self::Unavailable | Self::Internal)
    }
}

/// The longest message that is sent, in bytes. What a caller sent may be repeated in it, and may be a megabyte.
const MAX_MESSAGE: usize = 16 * 1024;

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

    /// The vectors of a search cannot be read or compared now. Contract 000 has a code of its own for it; to every other
    /// client it is something this call needs and that is not working.
    pub fn vector_store_unavailable(public: impl Into<Cow<'static, str>>) -> Self {
        Self::unavailable(public).with_reason(Reason::VectorStoreUnavailable)
    }

    /// A fault of ours: the caller learns that it happened, the log learns what.
    pub fn internal(detail: impl fmt::Display) -> Self {
        let line = "The server failed to complete this call; its log has the details under this request id.";
        Self::new(Kind::Internal, line).with_detail(detail)
    }

    /// The call has to be made again with answers to these questions.
    pub fn input_required(open: OpenQuestions) -> Self {
        Self::new(Kind::InputRequired, "This call needs answers before it can go on.")
            .with_reason(Reason::Questions(open))
    }

    /// The call would make a change that nobody has approved.
    pub fn unapproved(plan: PlannedChange) -> Self {
        Self::new(Kind::ConsentRequired, "This change has to be approved first.").with_reason(Reason::Unapproved(plan))
    }

    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    pub fn with_reason(mut self, reason: Reason) -> Self {
        self.reason = Some(Box::new(reason));
        self
    }

    /// With messages of a length that can be sent.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        if self.public.len() > MAX_MESSAGE {
            self.public = cut(&self.public).into();
        }
        if let Some(Reason::Field { reason: Some(reason), .. }) = self.reason.as_deref_mut()
            && reason.len() > MAX_MESSAGE
        {
            *reason = cut(reason);
        }
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

    /// Seconds after which a call that was refused for its rate can be made again. Where no quota says so, as of a queue
    /// that is full, it is a matter of moments.
    pub fn retry_after(&self) -> Option<u64> {
        if self.kind != Kind::RateLimited {
            return None;
        }
        match self.reason.as_deref() {
            Some(Reason::RateLimited { retry_after, .. }) => Some(*retry_after),
            _ => Some(1),
        }
    }

    /// Takes out the questions that have to be answered first, if that is the reason.
    pub fn take_questions(&mut self) -> Option<OpenQuestions> {
        match self.reason.as_deref_mut() {
            Some(Reason::Questions(open)) => Some(std::mem::take(open)),
            _ => None,
        }
    }
}

/// The beginning of a message that is too long.
fn cut(message: &str) -> String {
    let end = message.floor_char_boundary(MAX_MESSAGE);
    format!("{}… ({} bytes in all)", &message[..end], message.len())
}

/// Why a call failed: what a program can act on, beside the sentence for people. It is data, not text: the dialects in
/// mainstay-wire turn it into JSON, the HTTP server into headers, and nothing in between reads either of them back.
/// Serializable, because an idempotency key replays its first outcome with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// One argument or header is wrong. `reason` is missing where the public message says everything.
    Field { field: String, reason: Option<String> },
    /// The arguments break their JSON Schema; every problem is listed.
    Problems(Vec<Problem>),
    /// The token lacks this scope.
    MissingScope(Scope),
    /// A quota is used up: `limit` calls, and seconds until the next call is admitted.
    RateLimited { limit: u32, retry_after: u64 },
    /// This many consent requests of the caller are pending, which is the maximum; the oldest of them is the one to have
    /// decided first.
    PendingConsents { pending: u32, id: String, url: String, operation: String, expires_ms: i64 },
    /// The queue of the connection has this length and is full.
    QueueFull { queue: u64 },
    /// A person has to approve the call first.
    ConsentNeeded { id: String, url: String, operation: String, expires_ms: i64 },
    /// A person denied the call, with this reason if they gave one. The same call is refused until the request expires.
    ConsentDenied { id: String, reason: Option<String>, expires_ms: i64 },
    /// The consent request has expired.
    ConsentExpired,
    /// The file or directory the error is about.
    Path { path: String },
    /// The file has another etag than the caller expected.
    EtagMismatch { path: String, etag: String },
    /// The file is too large for the operation.
    FileTooLarge { path: String, size: u64, limit: u64 },
    /// More of a file was requested than one call returns.
    ReadTooLarge { size: u64, max_bytes: u64 },
    /// The resource the error is about, and a code word where a contract has one.
    Resource { uri: String, reason: Option<String> },
    /// The component has another owner and is active.
    ComponentOwned { component: String, owner: String },
    /// The client did not declare these capabilities, which the call needs.
    MissingCapabilities(Vec<String>),
    /// What is wrong with a context cache or a query of one.
    Cache(CacheFailure),
    /// What is unavailable is the store of vectors, and not the tool as a whole; see [`Error::vector_store_unavailable`].
    VectorStoreUnavailable,
    /// No template has this URI, or this name where a caller named it so.
    TemplateNotFound { uri: String },
    /// This is not the URI of any template, whatever templates there are.
    InvalidTemplateUri { uri: String, reason: String },
    /// The parameters break those that a template declares; every problem is listed. Apart from `Problems`, because the
    /// arguments of the tool are valid: contract 004 has a code of its own for each.
    TemplateParameters(Vec<Problem>),
    /// The call needs these answers first. Never stored: such a call has no outcome yet.
    #[serde(skip)]
    Questions(OpenQuestions),
    /// The call has planned this change and not made it. For the pipeline alone, which approves it or refuses the call.
    #[serde(skip)]
    Unapproved(PlannedChange),
}

impl Reason {
    pub fn path(path: impl Into<String>) -> Self {
        Self::Path { path: path.into() }
    }

    pub fn uri(uri: impl Into<String>) -> Self {
        Self::Resource { uri: uri.into(), reason: None }
    }
}

/// One violation of a JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// RFC 6901 pointer to the value; empty for the arguments as a whole.
    pub path: String,
    /// The keyword of the schema that was violated: `required`, `type`, `minimum` …
    pub rule: String,
    /// The property that is missing or unexpected; `path` points only to the object it belongs to.
    pub property: Option<String>,
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
}

string_enum! {
    /// What can go wrong with a context cache. Contract 002 freezes these six codes; the tools decide which one applies.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CacheFailure {
        CacheMissing = "cache_missing",
        CacheInvalid = "cache_invalid",
        InvalidQuery = "invalid_query",
        InvalidBudget = "invalid_budget",
        Io = "io_error",
        Internal = "internal_error",
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

    #[test]
    fn a_vector_store_that_is_away_is_unavailable_with_a_reason_that_can_be_stored() {
        let error = Error::vector_store_unavailable("The index is being rebuilt.");
        assert_eq!((error.kind, &*error.public), (Kind::Unavailable, "The index is being rebuilt."));
        let stored = serde_json::to_string(&error.reason).unwrap();
        assert_eq!(stored, "\"vector_store_unavailable\"");
        assert_eq!(serde_json::from_str::<Option<Box<Reason>>>(&stored).unwrap(), error.reason);
    }
}
