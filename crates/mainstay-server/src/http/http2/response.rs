//! Responses on their way to clients, piece by piece, and since when a client has not read what was handed over.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A response is written in pieces of this length, that of a frame: how much of it has been read is known for each.
const PIECE: usize = 16 * 1024;

/// The response of one stream on its way to the client.
pub(crate) struct Pieces {
    /// What is to be written next.
    rest: Bytes,
    unread: Arc<Unread>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Pieces {
    pub(super) fn new(unread: Arc<Unread>, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { rest: Bytes::new(), unread, _place: place }
    }

    pub(crate) fn rest(&self) -> usize {
        self.rest.len()
    }

    /// The first piece; the others follow.
    pub(crate) fn first(&mut self, bytes: Bytes) -> Bytes {
        self.rest = bytes;
        self.next().unwrap_or_default()
    }

    pub(crate) fn next(&mut self) -> Option<Bytes> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = self.rest.split_to(self.rest.len().min(PIECE));
        Some(Bytes::from_owner(Piece { bytes, number: self.unread.add(), unread: self.unread.clone() }))
    }
}

/// Pieces of responses that have been handed over and not been written. HTTP/2 writes what the client has allowed, which is
/// what it can read.
#[derive(Default)]
pub(super) struct Unread(Mutex<UnreadPieces>);

#[derive(Default)]
struct UnreadPieces {
    next: u64,
    /// In the order of their age.
    since: BTreeMap<u64, Instant>,
}

impl Unread {
    fn add(&self) -> u64 {
        let mut pieces = self.0.lock();
        let number = pieces.next;
        pieces.next += 1;
        pieces.since.insert(number, Instant::now());
        number
    }

    pub(super) fn oldest(&self) -> Option<Instant> {
        self.0.lock().since.values().next().copied()
    }
}

/// Dropped when it has been written or cannot be any more.
struct Piece {
    bytes: Bytes,
    number: u64,
    unread: Arc<Unread>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.unread.0.lock().since.remove(&self.number);
    }
}
