//! The operations on the audit log.

use super::Database;
use crate::Result;
use crate::audit::{self, AuditEntry, AuditHead, AuditQuery, AuditReport, AuditRow};

/// The audit log.
#[derive(Clone, Copy)]
pub struct AuditLog<'s>(pub(crate) &'s Database);

impl AuditLog<'_> {
    /// Resolves with the row's number once the row is on disk.
    pub async fn append(self, entry: AuditEntry) -> Result<i64> {
        self.0.writer.append(&entry).await
    }

    /// Queues the row and returns; it is written with the next group. Fails when the queue is full or the writer has
    /// been failing, so that the caller knows the log has a gap.
    pub fn enqueue(self, entry: &AuditEntry) -> Result<()> {
        self.0.writer.enqueue(entry)
    }

    /// Resolves once everything queued before is on disk.
    pub async fn flush(self) -> Result<()> {
        self.0.writer.flush().await
    }

    /// Newest first.
    pub async fn query(self, query: AuditQuery) -> Result<Vec<AuditRow>> {
        audit::query(&self.0.readers, &query).await
    }

    /// Checks the whole chain, archived rows included, in one snapshot of the database.
    pub async fn verify(self) -> Result<AuditReport> {
        audit::verify(&self.0.readers, self.0.archive.as_deref(), None).await
    }

    /// Like [`AuditLog::verify`], and whether the chain contains this row, which was noted elsewhere. A chain that was
    /// rewritten as a whole is consistent in itself; only this shows it.
    pub async fn verify_against(self, noted: &AuditHead) -> Result<AuditReport> {
        audit::verify(&self.0.readers, self.0.archive.as_deref(), Some(noted)).await
    }
}
