//! What may be set when a store is opened.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Connections that read, beside the one that writes.
    pub readers: u32,
    /// How many noted audit rows may wait, and how many other writes. Beyond it a note is refused, and any other write
    /// waits for room.
    pub queue: usize,
    /// How many writes share one commit at most, beside the noted rows: all of those are taken along.
    pub group: usize,
    /// How long noted audit rows wait for company when nothing else is to be written.
    pub linger: Duration,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How long noted audit rows that could not be written are kept and tried again.
    pub note_patience: Duration,
    /// SQLite only: the size past which the database file does not grow; writes fail instead.
    pub sqlite_max_bytes: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 4,
            queue: 65_536,
            group: 1024,
            linger: Duration::from_millis(10),
            busy_timeout: Duration::from_secs(5),
            note_patience: Duration::from_mins(1),
            sqlite_max_bytes: None,
        }
    }
}
