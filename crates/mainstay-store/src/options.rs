//! What can be configured when a store is opened.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Connections that read, beside the one that writes.
    pub readers: u32,
    /// How many audit rows without a waiting caller may be queued, and how many other writes. Beyond it such a row is
    /// rejected, and any other write waits for room.
    pub queue: usize,
    /// How many writes share one commit at most, beside the audit rows without a waiting caller: those are all written.
    pub group: usize,
    /// How long audit rows without a waiting caller wait for more of them when nothing else is to be written.
    pub linger: Duration,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How long audit rows without a waiting caller are kept and tried again when they cannot be written.
    pub retry_rows_for: Duration,
    /// SQLite only: the size past which the database file does not grow; writes fail instead.
    pub sqlite_max_bytes: Option<u64>,
    /// The directory that the oldest audit rows are moved to. It is created when it is first needed; without one, audit
    /// rows stay in the database. Replicas of one database have to share it.
    pub audit_archive: Option<PathBuf>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 4,
            queue: 65_536,
            group: 1024,
            linger: Duration::from_millis(10),
            busy_timeout: Duration::from_secs(5),
            retry_rows_for: Duration::from_mins(1),
            sqlite_max_bytes: None,
            audit_archive: None,
        }
    }
}
