//! A page: rows one after the other, each followed by the hash that binds it to the row before.

use sha2::{Digest as _, Sha256};

use super::canonical::Stored;
use super::rows::EncodedRow;

pub(crate) type Hash = [u8; 32];

/// The newest row's number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) seq: i64,
    pub(crate) hash: Hash,
}

impl Tip {
    /// Before the first row.
    pub(super) const START: Self = Self { seq: 0, hash: [0; 32] };

    /// The row after this one.
    pub(super) fn follow(self, canonical: &[u8]) -> Self {
        let seq = self.seq + 1;
        let hash = Sha256::new().chain_update(self.hash).chain_update(seq.to_be_bytes()).chain_update(canonical);
        Self { seq, hash: hash.finalize().into() }
    }
}

pub(super) fn write<'l>(mut tip: Tip, lines: impl Iterator<Item = EncodedRow<'l>>) -> (Vec<u8>, Tip) {
    let mut page = Vec::with_capacity(lines.size_hint().0 * 256);
    for line in lines {
        tip = tip.follow(line.canonical);
        page.extend_from_slice(line.canonical);
        page.extend_from_slice(&tip.hash);
    }
    (page, tip)
}

pub(super) struct Record<'a> {
    pub(super) canonical: &'a [u8],
    pub(super) stored: Stored<'a>,
    pub(super) hash: Hash,
}

/// The page's rows in order. Damage gives one `None`, and ends it.
pub(super) fn records(page: &[u8]) -> impl Iterator<Item = Option<Record<'_>>> {
    let mut rest = page;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let record = record(rest);
        rest = record.as_ref().map_or(&[], |(_, after)| after);
        Some(record.map(|(record, _)| record))
    })
}

fn record(page: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let (stored, after) = Stored::decode(page)?;
    let (hash, rest) = after.split_first_chunk()?;
    Some((Record { canonical: &page[..page.len() - after.len()], stored, hash: *hash }, rest))
}
