//! Retention of the audit log: its oldest rows are moved to files, and the oldest files are deleted.

use std::path::Path;

use super::AuditLog;
use crate::audit::{self, AuditSegment, SegmentOperation};
use crate::writer::transaction;
use crate::{Keep, Result};

const PAGE_BYTES: &str = "SELECT CAST(COALESCE(SUM(octet_length(entries)), 0) AS BIGINT) FROM audit_page";

impl AuditLog<'_> {
    /// Moves the oldest rows to files of the archive, as long as they are older or more than what is kept in the
    /// database; resolves with what was moved, which is in the
    /// audit, too. Nothing is moved if the store has no archive. A row is in a file, on
    /// disk, before it leaves the database, so a crash in between loses nothing: the file is written again.
    pub async fn archive(self, keep: Keep, now_ms: i64) -> Result<Vec<AuditSegment>> {
        let mut moved = Vec::new();
        let Some(directory) = self.0.archive.as_deref() else { return Ok(moved) };
        let mut bytes: i64 = self.0.readers.one(PAGE_BYTES, &[]).await?.unwrap_or(0);
        while let Some(segment) = self.write_oldest(directory, keep, now_ms, bytes).await? {
            bytes = bytes.saturating_sub(segment.bytes);
            let committed =
                transaction!(self.0.writer, segment.clone(), |db, segment| { audit::commit(db, segment).await })?;
            if !committed {
                // Another replica is moving the same rows. One of them is enough.
                break;
            }
            self.append(segment.record(SegmentOperation::Archive, now_ms)).await?;
            moved.push(segment);
        }
        Ok(moved)
    }

    async fn write_oldest(self, directory: &Path, keep: Keep, now_ms: i64, bytes: i64) -> Result<Option<AuditSegment>> {
        let mut connection = self.0.readers.snapshot().await?;
        let is_due = |newest_ms| keep.is_exceeded(newest_ms, now_ms, bytes);
        audit::write_oldest(&mut connection.conn(), directory, is_due).await
    }

    /// Deletes the oldest files of the archive that are older or more than what is kept; resolves with them. What is
    /// left still verifies: the database knows the hash at which it begins.
    pub async fn remove_archived(self, keep: Keep, now_ms: i64) -> Result<Vec<AuditSegment>> {
        let mut removed = Vec::new();
        let Some(directory) = self.0.archive.as_deref() else { return Ok(removed) };
        let segments = self.segments().await?;
        let mut bytes: i64 = segments.iter().map(|segment| segment.bytes).sum();
        for segment in segments {
            if !keep.is_exceeded(segment.newest_ms, now_ms, bytes) {
                break;
            }
            bytes = bytes.saturating_sub(segment.bytes);
            // On record before it happens: a chain whose beginning is missing without that is not whole.
            self.append(segment.record(SegmentOperation::Remove, now_ms)).await?;
            // The file first: after a crash in between, the next attempt finds it gone and goes on.
            audit::delete_file(directory.join(segment.file_name())).await?;
            transaction!(self.0.writer, segment.clone(), |db, segment| { audit::mark_removed(db, segment).await })?;
            removed.push(segment);
        }
        Ok(removed)
    }

    /// The segments whose files are kept, oldest first.
    pub async fn segments(self) -> Result<Vec<AuditSegment>> {
        let mut segments = audit::segments(&mut self.0.readers.acquire().await?.conn()).await?;
        segments.retain(|segment| !segment.removed);
        Ok(segments)
    }
}
