//! Deleting what has expired.

use super::Database;
use super::feed;
use crate::Result;
use crate::sql::params;

/// An idempotency key, a nonce or a revoked token counts only until it expires, so none of these deletes can change
/// what an operation answers.
const EXPIRED: [&str; 7] = [
    "DELETE FROM session WHERE expires_ms <= $1",
    "DELETE FROM idempotency WHERE expires_ms <= $1",
    "DELETE FROM consent WHERE expires_ms <= $1",
    "DELETE FROM nonce WHERE expires_ms <= $1",
    "DELETE FROM oauth_refresh WHERE expires_ms <= $1",
    "DELETE FROM oauth_revoked WHERE expires_ms <= $1",
    "DELETE FROM signing_key WHERE expires_ms <= $1",
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
