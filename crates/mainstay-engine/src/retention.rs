//! How long and how much the server keeps of what does not expire by itself.

use std::path::PathBuf;

use mainstay_core::Result;
use mainstay_store::{Keep, Retention};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Engine;

/// Retention by age and by size; 0 is without a limit. Beyond a limit the oldest goes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Days that activities, collaborations, decisions and conflicts are kept after their last change, agents after they
    /// were last seen, and components after their owner was.
    pub agents_days: u32,
    /// Megabytes of each of these tables.
    pub agents_mb: u32,
    /// Megabytes of events for clients of `/ws`; an event is kept for an hour at most.
    pub events_mb: u32,
    /// Megabytes of results kept under idempotency keys. A key whose result was dropped still prevents a second call.
    pub results_mb: u32,
    /// Megabytes of sessions; those not used for the longest time are closed first.
    pub sessions_mb: u32,
    /// Days that audit rows stay in the database before they are moved to the archive.
    pub audit_days: u32,
    /// Megabytes of audit rows in the database.
    pub audit_mb: u32,
    /// Directory of the audit's archive. Default: `audit-archive` in the data directory. Replicas have to share it.
    pub audit_archive: Option<PathBuf>,
    /// Days that archived audit rows are kept.
    pub archive_days: u32,
    /// Megabytes of archived audit rows.
    pub archive_mb: u32,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            agents_days: 90,
            agents_mb: 256,
            events_mb: 128,
            results_mb: 256,
            sessions_mb: 64,
            // About two and a half million calls in the database, and twenty million more in the archive.
            audit_days: 90,
            audit_mb: 1024,
            audit_archive: None,
            archive_days: 730,
            archive_mb: 8192,
        }
    }
}

fn days(days: u32) -> Option<i64> {
    (days > 0).then(|| i64::from(days) * 24 * 3_600_000)
}

fn megabytes(mb: u32) -> Option<i64> {
    (mb > 0).then(|| i64::from(mb) << 20)
}

impl RetentionSettings {
    fn resolved(&self) -> Retention {
        Retention {
            team: Keep { age_ms: days(self.agents_days), bytes: megabytes(self.agents_mb) },
            audit: Keep { age_ms: days(self.audit_days), bytes: megabytes(self.audit_mb) },
            archive: Keep { age_ms: days(self.archive_days), bytes: megabytes(self.archive_mb) },
            event_bytes: megabytes(self.events_mb),
            result_bytes: megabytes(self.results_mb),
            session_bytes: megabytes(self.sessions_mb),
        }
    }
}

impl Engine {
    /// Deletes and archives what the settings do not keep.
    pub(crate) async fn apply_retention(&self) -> Result<()> {
        let now_ms = self.clock().now_ms();
        let report = self.0.store.apply_retention(&self.settings().retention.resolved(), now_ms).await?;
        if report.rows > 0 {
            tracing::info!(rows = report.rows, "rows beyond what engine.retention keeps were deleted");
        }
        for segment in report.archived {
            tracing::info!(
                file = segment.file_name(),
                "rows {} to {} of the audit were archived",
                segment.first,
                segment.last
            );
        }
        for segment in report.removed {
            tracing::info!(
                file = segment.file_name(),
                "the archive of rows {} to {} was deleted",
                segment.first,
                segment.last
            );
        }
        Ok(())
    }
}
