//! The text of a page: a JSON array of rows, each on a line of its own. A row is an array of its canonical text and of
//! the hash that binds it to the row before.

use sha2::{Digest as _, Sha256};

use super::canonical;
use super::rows::EncodedRow;
use crate::{AuditEntry, Result, StoreError};

pub(crate) type Hash = [u8; 32];

/// Between two rows. The line break occurs nowhere else in a page, because JSON escapes those in texts.
const SEPARATOR: &str = ",\n";

/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 2 * size_of::<Hash>();

/// A position in the chain: a row's number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) seq: i64,
    pub(crate) hash: Hash,
}

impl Tip {
    /// Before the first row.
    pub(super) const START: Self = Self { seq: 0, hash: [0; 32] };

    /// The row after this one. Its number is part of the hash, so that a row cannot be moved.
    pub(super) fn follow(self, canonical: &[u8]) -> Self {
        let seq = self.seq + 1;
        let hash = Sha256::new().chain_update(self.hash).chain_update(seq.to_be_bytes()).chain_update(canonical);
        Self { seq, hash: hash.finalize().into() }
    }
}

/// The page with these rows, which follow `tip`, and the new tip.
pub(super) fn write<'r>(mut tip: Tip, rows: impl Iterator<Item = EncodedRow<'r>>) -> Result<(String, Tip)> {
    let mut page = Vec::with_capacity(rows.size_hint().0 * 320);
    for row in rows {
        page.extend_from_slice(if page.is_empty() { "[" } else { SEPARATOR }.as_bytes());
        page.push(b'[');
        tip = tip.follow(row.canonical);
        page.extend_from_slice(row.canonical);
        page.extend_from_slice(b",\"");
        page.extend_from_slice(mainstay_core::hex(&tip.hash).as_bytes());
        page.extend_from_slice(b"\"]");
    }
    page.push(b']');
    Ok((String::from_utf8(page).map_err(StoreError::failed)?, tip))
}

/// A row as it is stored in its page.
pub(super) struct StoredRow<'p> {
    pub(super) canonical: &'p str,
    /// In hexadecimal digits.
    pub(super) hash: &'p str,
}

impl<'p> StoredRow<'p> {
    fn parse(text: &'p str) -> Option<Self> {
        let inside = text.strip_prefix('[')?.strip_suffix("\"]")?;
        let (canonical, hash) = inside.split_at_checked(inside.len().checked_sub(HASH_DIGITS)?)?;
        Some(Self { canonical: canonical.strip_suffix(",\"")?, hash })
    }

    /// `None` if the row is damaged.
    pub(super) fn entry(&self) -> Option<AuditEntry> {
        canonical::decode(self.canonical)
    }
}

/// The rows of a page in order, at least one; `None` is a row that is damaged.
pub(super) fn rows(page: &str) -> impl Iterator<Item = Option<StoredRow<'_>>> {
    let rows = page.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    rows.unwrap_or_default().split(SEPARATOR).map(StoredRow::parse)
}
