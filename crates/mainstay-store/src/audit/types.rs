//! The types of the audit log: who called what, in a chain of hashes that shows any later change.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A call that changes something has two rows: one before it runs and one with its outcome. All others have the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// About to run; the row is on disk before it does.
    Began,
    /// Finished, or rejected.
    Ended,
}

/// What is recorded of a call. Never its arguments, only their digest: arguments hold secrets.
///
/// The order of the fields is that of the stored values; a new one goes to the end. Texts that every call has are shared
/// with it, not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub at_ms: i64,
    pub phase: Phase,
    pub request_id: Arc<str>,
    pub principal: Arc<str>,
    pub session: Option<Arc<str>>,
    pub ip: Option<String>,
    /// The tool's, prompt's or resource's name.
    pub target: Arc<str>,
    /// `reads`, `writes`, `executes` or `destroys`.
    pub effect: Cow<'static, str>,
    /// SHA-256 of the canonical arguments, in hex.
    pub args_digest: String,
    /// `ok`, or the kind of the error; empty while [`Phase::Began`].
    pub outcome: Cow<'static, str>,
    pub duration_us: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRow {
    pub seq: i64,
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// SHA-256 over the row before, this row's number and its entry, in hex.
    pub hash: String,
}

#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub session: Option<String>,
    pub principal: Option<String>,
    /// Rows with a smaller number only: pages run from the newest backwards.
    pub before: Option<i64>,
    pub limit: u32,
}

/// The newest row's number and hash; kept apart from the rows so that a missing tail shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditHead {
    pub seq: i64,
    pub hash: String,
}

/// What `verify` found first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum AuditFault {
    /// The row's own content no longer gives its hash, or it does not follow from the row before it.
    Changed { seq: i64 },
    /// No row has this number, though later ones do.
    Missing { seq: i64 },
    /// The head says there were more rows: this is the first that is gone.
    TailMissing { seq: i64, head: i64 },
    /// There are rows the head does not know of: this is the first.
    BeyondHead { seq: i64, head: i64 },
    /// Rows were moved to a file of the archive, and the file is not there.
    SegmentMissing { first: i64, last: i64, file: String },
    /// The chain is whole, but it does not have the row that was noted elsewhere: it was rewritten.
    Rewritten { seq: i64 },
    /// The row that was noted elsewhere is older than what retention keeps, so it cannot be compared.
    NotKept { seq: i64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Rows that were checked, in the archive and in the database.
    pub rows: i64,
    /// How many of them are in the archive.
    pub archived: i64,
    /// Older rows, which retention has removed.
    pub removed: i64,
    pub head: AuditHead,
    pub fault: Option<AuditFault>,
}
