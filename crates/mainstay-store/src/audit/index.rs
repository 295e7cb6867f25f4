//! Which sessions and principals occur where, so that a query for one does not read the whole log.
//!
//! An index on the rows would touch as many of its own pages as a group has sessions, which costs several times what
//! the rows do. Instead the log is divided into blocks of rows, and the first time this writer meets a session or a
//! principal in a block it stores a mark of eight bytes, in a table that only ever grows at its end. A mark tells where
//! to look and the rows themselves what is there, so two names with one mark cost time and nothing else.

use std::collections::HashSet;

/// Rows of a block, as a power of two. A page belongs to the block of its first row.
const BLOCK_BITS: u32 = 12;

pub(super) const fn block_of(first_seq: i64) -> i64 {
    first_seq >> BLOCK_BITS
}

pub(super) const fn block_start(block: i64) -> i64 {
    block << BLOCK_BITS
}

/// A hash of a session or principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mark([u8; 8]);

impl Mark {
    pub(super) fn session(name: &str) -> Self {
        Self::new(b's', name)
    }

    pub(super) fn principal(name: &str) -> Self {
        Self::new(b'p', name)
    }

    /// FNV-1a. Marks are stored, so the hash must never change; it does not have to resist an attacker, who could only
    /// slow down queries for a name of their own.
    fn new(kind: u8, name: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = name.bytes().fold(step(0xcbf2_9ce4_8422_2325, kind), step);
        Self(hash.to_be_bytes())
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

/// The marks of one row of the table.
pub(super) fn marks(bytes: &[u8]) -> impl Iterator<Item = Mark> {
    bytes.as_chunks().0.iter().copied().map(Mark)
}

/// What the writer has marked in the current block.
#[derive(Default)]
pub(crate) struct Index {
    block: i64,
    marked: HashSet<Mark>,
    unwritten: Vec<u8>,
}

impl Index {
    /// Marks a row of the page that begins with `first_seq`.
    pub(super) fn add(&mut self, first_seq: i64, principal: Mark, session: Option<Mark>) {
        if block_of(first_seq) != self.block {
            self.block = block_of(first_seq);
            self.marked.clear();
        }
        for mark in [Some(principal), session].into_iter().flatten() {
            if self.marked.insert(mark) {
                self.unwritten.extend_from_slice(&mark.0);
            }
        }
    }

    /// The marks to be stored with the page whose rows were added.
    pub(super) fn take_unwritten(&mut self) -> Option<Vec<u8>> {
        (!self.unwritten.is_empty()).then(|| std::mem::take(&mut self.unwritten))
    }

    /// For a transaction that was rolled back. Marking something twice is harmless, not marking it is not.
    pub(crate) fn forget(&mut self) {
        self.marked.clear();
        self.unwritten.clear();
    }
}
