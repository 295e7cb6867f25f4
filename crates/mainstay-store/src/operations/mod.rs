//! The storage operations, a file for each topic, written once for both engines.
//!
//! An operation is one method with its SQL, and a test in `tests/store`, which runs it on SQLite and on PostgreSQL.
//! One that changes something runs its statements in a [`transaction!`](crate::writer::transaction) or, if it is a single
//! statement, hands it to [`Writer::change`](crate::writer::Writer::change). Something expires at its
//! `expires_ms`, not after it.

mod agents;
mod archive;
mod audit;
mod consents;
mod feed;
mod idempotency;
mod limits;
mod oauth;
mod retention;
mod search;
mod secrets;
mod sent_transactions;
mod sessions;
mod signing_keys;
mod sizes;

pub use agents::*;
pub use audit::AuditLog;
pub use consents::*;
pub use feed::{FEED_RETENTION_MS, Feed, FeedHead, FeedPage};
pub use idempotency::{HeldKey, Idempotency, KeyClaim};
pub use limits::{Lease, LeaseRequest, Limits};
pub use oauth::{Client, OAuth, RefreshToken, Rotation};
pub use retention::{Keep, Retention, RetentionReport};
pub use search::*;
pub use secrets::Secrets;
pub use sent_transactions::{NewSend, Recorded, SendState, SendUpdate, SentTransaction, SentTransactions, Spend};
pub use sessions::{Session, Sessions};
pub use signing_keys::SigningKey;
pub use sizes::StoreSizes;

pub(crate) use retention::apply as apply_retention;
pub(crate) use sizes::sizes;

use std::path::PathBuf;

use tokio::sync::OnceCell;

use crate::Result;
use crate::sql::{Readers, params};
use crate::writer::Writer;

/// What every operation works with. Reads go to a connection of the pool and never wait for a write; whatever changes
/// something goes through the writer.
pub(crate) struct Database {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    /// The directory of the audit's archive, if there is one.
    pub(crate) archive: Option<PathBuf>,
    /// PostgreSQL: set once this store has tried to make the table of chunks that pgvector searches.
    search_chunks: OnceCell<()>,
}

impl Database {
    pub(crate) fn new(readers: Readers, writer: Writer, archive: Option<PathBuf>) -> Self {
        Self { readers, writer, archive, search_chunks: OnceCell::new() }
    }
}

/// What deletes everything that has expired. An idempotency key, a nonce or a revoked token counts only until it expires,
/// so none of these deletes can change what an operation answers. The exception is a sent
/// transaction, which is known until it is deleted; one whose state is not final is never deleted.
const EXPIRED: [&str; 10] = [
    "DELETE FROM session WHERE expires_ms <= $1",
    "DELETE FROM idempotency WHERE expires_ms <= $1",
    "DELETE FROM consent WHERE expires_ms <= $1",
    "DELETE FROM nonce WHERE expires_ms <= $1",
    "DELETE FROM oauth_refresh WHERE expires_ms <= $1",
    "DELETE FROM oauth_revoked WHERE expires_ms <= $1",
    "DELETE FROM signing_key WHERE expires_ms <= $1",
    "DELETE FROM limit_lease WHERE expires_ms <= $1",
    "DELETE FROM sent_transaction WHERE expires_ms <= $1 AND state NOT IN ('pending', 'confirmed')",
    "DELETE FROM sent_transaction_spend WHERE expires_ms <= $1",
];

/// Resolves with the number of rows deleted. Each table is a write of its own, so that a large one does not hold up
/// the writes that wait.
pub(crate) async fn sweep(database: &Database, now_ms: i64) -> Result<u64> {
    let mut deleted = feed::sweep(&database.writer, now_ms).await?;
    for sql in EXPIRED {
        deleted += database.writer.change(sql, params![now_ms]).await?;
    }
    Ok(deleted)
}
