//! What is kept, and how much of it. What does not expire by itself would otherwise grow for ever.
//!
//! Sizes are those of the texts that callers determine; rows and indexes add to them. A database file of SQLite does not
//! shrink: the room of deleted rows is used again.

use super::{AuditLog, Database, feed};
use crate::Result;
use crate::audit::AuditSegment;
use crate::sql::params;
use crate::writer::{Writer, transaction};

/// How long and how much of something is kept. `None` is without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    pub age_ms: Option<i64>,
    pub bytes: Option<i64>,
}

impl Keep {
    /// Everything up to this time is too old.
    fn cutoff_ms(self, now_ms: i64) -> Option<i64> {
        self.age_ms.map(|age_ms| now_ms.saturating_sub(age_ms))
    }

    /// Whether something from this time is too old, or there are more bytes than are kept.
    pub(super) fn is_exceeded(self, at_ms: i64, now_ms: i64, bytes: i64) -> bool {
        self.cutoff_ms(now_ms).is_some_and(|cutoff_ms| at_ms <= cutoff_ms)
            || self.bytes.is_some_and(|most| bytes > most)
    }
}

/// What is kept of each topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// The tables of a team of agents: the age of each record, and the size of each table.
    pub team: Keep,
    /// Audit rows in the database; older ones are in the archive.
    pub audit: Keep,
    /// The archive of the audit.
    pub archive: Keep,
    pub event_bytes: Option<i64>,
    /// Results kept under idempotency keys. A key itself is kept until it expires, so that no call runs twice.
    pub result_bytes: Option<i64>,
    pub session_bytes: Option<i64>,
}

/// What was deleted and moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Rows deleted besides audit rows; a result that was dropped counts as one.
    pub rows: u64,
    pub archived: Vec<AuditSegment>,
    pub removed: Vec<AuditSegment>,
}

/// Rows deleted in one write, so that other writes do not wait for long.
const CHUNK: u64 = 1000;

// Activities are numbered in the order of their time, so the search ends with the first chunk that has newer ones.
const OLD_ACTIVITIES: &str = "DELETE FROM activities WHERE id IN (SELECT id FROM \
     (SELECT id, timestamp FROM activities ORDER BY id LIMIT 1000) AS oldest WHERE timestamp <= $1)";

/// What is too old of the other tables of a team: records that nobody has changed since, agents not seen since, and
/// the components that such agents own. A component of an agent that is still seen stays, however old it is.
const OLD_RECORDS: [&str; 5] = [
    "DELETE FROM collaborations WHERE COALESCE(answered_at, created_at) <= $1",
    "DELETE FROM conflicts WHERE COALESCE(resolved_at, created_at) <= $1",
    "DELETE FROM decisions WHERE COALESCE(resolved_at, timestamp) <= $1",
    "DELETE FROM agent_states WHERE last_seen <= $1",
    "DELETE FROM components WHERE last_updated <= $1 \
     AND NOT EXISTS (SELECT 1 FROM agent_states WHERE agent = components.owner)",
];

/// The newest key of what is too much: the sizes of a key's row and of all newer ones exceed `$1` bytes. 0 if there is
/// nothing too much.
macro_rules! too_much {
    ($table:literal, $key:literal, $bytes:literal) => {
        concat!(
            "SELECT COALESCE(MAX(sort_key), 0) FROM (SELECT ",
            $key,
            " AS sort_key, SUM(",
            $bytes,
            ") OVER (ORDER BY ",
            $key,
            " DESC) AS total FROM ",
            $table,
            ") AS sized WHERE total > $1"
        )
    };
}

/// The statements for a table of a team with numbered rows: which are too much, and what deletes some of them.
macro_rules! numbered {
    ($table:literal, $bytes:literal) => {
        (
            too_much!($table, "id", $bytes),
            concat!(
                "DELETE FROM ",
                $table,
                " WHERE id IN (SELECT id FROM ",
                $table,
                " WHERE id <= $1 ORDER BY id LIMIT 1000)"
            ),
        )
    };
}

const TEAM_TABLES: [(&str, &str); 4] = [
    numbered!("activities", "octet_length(activity) + COALESCE(octet_length(details), 0)"),
    numbered!("collaborations", "octet_length(task) + COALESCE(octet_length(note), 0)"),
    numbered!("conflicts", "octet_length(agents) + octet_length(component) + COALESCE(octet_length(resolution), 0)"),
    numbered!("decisions", "octet_length(question) + octet_length(metadata) + octet_length(votes)"),
];

const TOO_MANY_EVENTS: &str = too_much!("feed", "last_seq", "octet_length(events)");
// Those that were not used for the longest time go first; a client whose session is gone opens another.
const TOO_MANY_SESSIONS: &str = too_much!("session", "expires_ms", "octet_length(state)");
const DELETE_SESSIONS: &str = "DELETE FROM session WHERE expires_ms <= $1";
const TOO_MANY_RESULTS: &str = too_much!("idempotency", "since_ms", "COALESCE(octet_length(outcome), 0)");
// Not NULL, which would mean that the call is still running.
const DROP_RESULTS: &str = "UPDATE idempotency SET outcome = '' WHERE since_ms <= $1 AND outcome <> ''";

pub(crate) async fn apply(database: &Database, retention: &Retention, now_ms: i64) -> Result<RetentionReport> {
    let mut rows = 0;
    if let Some(cutoff_ms) = retention.team.cutoff_ms(now_ms) {
        rows += delete_in_chunks(&database.writer, OLD_ACTIVITIES, cutoff_ms).await?;
        for sql in OLD_RECORDS {
            rows += database.writer.change(sql, params![cutoff_ms]).await?;
        }
    }
    for (too_much, delete) in TEAM_TABLES {
        if let Some(last) = find_excess(database, too_much, retention.team.bytes).await? {
            rows += delete_in_chunks(&database.writer, delete, last).await?;
        }
    }
    if let Some(last) = find_excess(database, TOO_MANY_EVENTS, retention.event_bytes).await? {
        rows += transaction!(database.writer, last, |db, last| { feed::delete_until(db, *last).await })?;
    }
    for (too_much, delete, most) in [
        (TOO_MANY_SESSIONS, DELETE_SESSIONS, retention.session_bytes),
        (TOO_MANY_RESULTS, DROP_RESULTS, retention.result_bytes),
    ] {
        if let Some(last) = find_excess(database, too_much, most).await? {
            rows += database.writer.change(delete, params![last]).await?;
        }
    }
    let audit = AuditLog(database);
    let archived = audit.archive(retention.audit, now_ms).await?;
    let removed = audit.remove_archived(retention.archive, now_ms).await?;
    Ok(RetentionReport { rows, archived, removed })
}

/// The newest key of what is more than is kept, if there is any.
async fn find_excess(database: &Database, sql: &'static str, most: Option<i64>) -> Result<Option<i64>> {
    let Some(most) = most else { return Ok(None) };
    let last: Option<i64> = database.readers.one(sql, &params![most]).await?;
    Ok(last.filter(|last| *last > 0))
}

async fn delete_in_chunks(writer: &Writer, sql: &'static str, bound: i64) -> Result<u64> {
    let mut deleted = 0;
    loop {
        let chunk = writer.change(sql, params![bound]).await?;
        deleted += chunk;
        if chunk < CHUNK {
            return Ok(deleted);
        }
    }
}
