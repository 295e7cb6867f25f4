//! The storage operations, a file for each topic, written once for both engines.
//!
//! An operation is one method with its SQL, and a test in `tests/store`, which runs it on SQLite and on PostgreSQL.
//! One that changes something runs its statements in a [`transaction!`](crate::writer::transaction) or, if it is a single
//! statement, hands it to [`Writer::change`](crate::writer::Writer::change). Something expires at its
//! `expires_ms`, not after it.

mod agents;
mod audit;
mod consents;
mod feed;
mod idempotency;
mod oauth;
mod secrets;
mod sessions;
mod signing_keys;
mod sweep;

pub use agents::*;
pub use audit::AuditLog;
pub use consents::*;
pub use feed::{FEED_RETENTION_MS, Feed, FeedHead, FeedPage};
pub use idempotency::{HeldKey, Idempotency, KeyClaim};
pub use oauth::{Client, OAuth, RefreshToken, Rotation};
pub use secrets::Secrets;
pub use sessions::{Session, Sessions};
pub use signing_keys::SigningKey;
pub(crate) use sweep::sweep;

use crate::sql::Readers;
use crate::writer::Writer;

/// What every operation works with. Reads go to a connection of the pool and never wait for a write; whatever changes
/// something goes through the writer.
pub(crate) struct Database {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
}
