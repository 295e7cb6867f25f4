//! Typed reasons of an error: what a program can act on, beside the sentence for people.
//!
//! A reason is data, not text. The dialects in mainstay-wire turn it into JSON, the HTTP server into headers; nothing in
//! between reads either of them back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{OpenQuestions, Scope};

/// Why a call failed, for programs. Serializable, because an idempotency key replays its first outcome with the reason.
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
    /// This many consent requests of the caller are pending, which is the maximum.
    PendingConsents { pending: u32 },
    /// The queue of the connection has this length and is full.
    QueueFull { queue: u64 },
    /// A person has to approve the call first.
    ConsentNeeded { id: String, url: String, operation: String, expires_ms: i64 },
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
    /// The call needs these answers first. Never stored: such a call has no outcome yet.
    #[serde(skip)]
    Questions(OpenQuestions),
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
