//! Which sessions and principals occur where, so that asking for one does not read everything.
//!
//! An index on the rows would touch as many of its pages as a group has sessions, which costs several times what the
//! rows do. Instead the rows are taken in blocks, and the first time this writer meets a session or a principal in a
//! block it leaves a mark of eight bytes, in a table that only ever grows at its end. A mark says where to look; the
//! rows themselves say what is there, so two names with one mark only cost a look.

use std::collections::HashSet;

use super::rows::EncodedRow;

/// A page belongs to the block of its first row.
const BLOCK_BITS: u32 = 12;

pub(super) const fn block_of(first_seq: i64) -> i64 {
    first_seq >> BLOCK_BITS
}

pub(super) const fn block_start(block: i64) -> i64 {
    block << BLOCK_BITS
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mark([u8; 8]);

impl Mark {
    pub(super) fn session(name: &str) -> Self {
        Self::new(b's', name)
    }

    pub(super) fn principal(name: &str) -> Self {
        Self::new(b'p', name)
    }

    /// FNV-1a. Marks are kept on disk, so the hash must never change; it need not resist anybody.
    fn new(kind: u8, name: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = name.bytes().fold(step(0xcbf2_9ce4_8422_2325, kind), step);
        Self(hash.to_be_bytes())
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

pub(super) fn marks(bytes: &[u8]) -> impl Iterator<Item = Mark> {
    bytes.as_chunks().0.iter().copied().map(Mark)
}

/// What the writer has marked in the current block.
#[derive(Default)]
pub(crate) struct Index {
    block: i64,
    marked: HashSet<Mark>,
    unrecorded: Vec<u8>,
}

impl Index {
    pub(super) fn see(&mut self, first_seq: i64, line: &EncodedRow<'_>) {
        if block_of(first_seq) != self.block {
            self.block = block_of(first_seq);
            self.marked.clear();
        }
        self.mark(line.principal);
        if let Some(session) = line.session {
            self.mark(session);
        }
    }

    fn mark(&mut self, mark: Mark) {
        if self.marked.insert(mark) {
            self.unrecorded.extend_from_slice(&mark.0);
        }
    }

    /// The marks to be stored with the page that was just seen.
    pub(super) fn unrecorded(&mut self) -> Option<Vec<u8>> {
        (!self.unrecorded.is_empty()).then(|| std::mem::take(&mut self.unrecorded))
    }

    /// The transaction did not happen. Marking something twice is harmless, not marking it is not.
    pub(crate) fn forget(&mut self) {
        self.marked.clear();
        self.unrecorded.clear();
    }
}
