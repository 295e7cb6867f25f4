//! The chain of rows: the text of its pages, appending to it, and its head.
//!
//! A page is a JSON array of rows, each on a line of its own. A row is an array of its canonical text and of the hash that
//! binds it to the row before.

use sha2::{Digest as _, Sha256};

use super::index::Index;
use super::rows::{EncodedRows, decode};
use crate::sql::{Conn, Param, params};
use crate::{AuditEntry, Result, StoreError};

type Hash = [u8; 32];

/// Between two rows. The line break occurs nowhere else in a page, because JSON escapes those in texts.
const SEPARATOR: &str = ",\n";

/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 2 * size_of::<Hash>();

/// The most rows in one page: a reader has a few pages in memory at a time.
const PAGE_ROWS: usize = 1024;

// In one message, because the writer waits for each.
const SQLITE_APPEND: &str = "INSERT INTO audit_page (first_seq, entries) VALUES ($1, $2); \
     UPDATE audit_head SET seq = $3, hash = $4 WHERE id = 1";
const POSTGRES_APPEND: &str = "WITH page AS (INSERT INTO audit_page (first_seq, entries) VALUES ($1, $2)) \
     UPDATE audit_head SET seq = $3, hash = $4 WHERE id = 1";
const APPEND_INDEX: &str = "INSERT INTO audit_index (first_seq, marks) VALUES ($1, $2)";
const LAST_PAGE: &str =
    "SELECT first_seq, entries FROM audit_page WHERE first_seq <= $1 ORDER BY first_seq DESC LIMIT 1";

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
fn write<'r>(mut tip: Tip, rows: impl Iterator<Item = &'r [u8]>) -> Result<(String, Tip)> {
    let mut page = Vec::with_capacity(rows.size_hint().0 * 320);
    for canonical in rows {
        page.extend_from_slice(if page.is_empty() { "[" } else { SEPARATOR }.as_bytes());
        page.push(b'[');
        tip = tip.follow(canonical);
        page.extend_from_slice(canonical);
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
    pub(super) fn parse(text: &'p str) -> Option<Self> {
        let inside = text.strip_prefix('[')?.strip_suffix("\"]")?;
        let (canonical, hash) = inside.split_at_checked(inside.len().checked_sub(HASH_DIGITS)?)?;
        Some(Self { canonical: canonical.strip_suffix(",\"")?, hash })
    }

    /// As [`StoredRow::parse`] reads it.
    pub(super) fn to_text(&self) -> String {
        format!("[{},\"{}\"]", self.canonical, self.hash)
    }

    /// The position of this row after `last`; `None` if it does not have the hash that it would have there.
    pub(super) fn follows(&self, last: Tip) -> Option<Tip> {
        let next = last.follow(self.canonical.as_bytes());
        (mainstay_core::hex(&next.hash) == self.hash).then_some(next)
    }

    /// `None` if the row is damaged.
    pub(super) fn entry(&self) -> Option<AuditEntry> {
        decode(self.canonical)
    }
}

/// The rows of a page in order, at least one; `None` is a row that is damaged.
pub(super) fn rows(page: &str) -> impl Iterator<Item = Option<StoredRow<'_>>> {
    let rows = page.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    rows.unwrap_or_default().split(SEPARATOR).map(StoredRow::parse)
}

/// Adds rows after `tip`, inside the transaction that read it; resolves with the new tip.
pub(crate) async fn append(db: &mut Conn<'_>, mut tip: Tip, rows: &EncodedRows, index: &mut Index) -> Result<Tip> {
    let mut unwritten = rows.iter();
    while unwritten.len() > 0 {
        let first = tip.seq + 1;
        let page_rows = unwritten.by_ref().take(PAGE_ROWS).map(|(canonical, marks)| {
            index.add(first, marks.principal, marks.session);
            canonical
        });
        let (page, next) = write(tip, page_rows)?;
        tip = next;
        if let Some(marks) = index.take_unwritten() {
            db.execute(APPEND_INDEX, &params![first, marks]).await?;
        }
        let sql = db.engine().pick(SQLITE_APPEND, POSTGRES_APPEND);
        // Moved and not copied, because a page can be hundreds of kilobytes.
        let page = Param::Text(Some(page));
        let hash = Param::Bytes(tip.hash.to_vec());
        db.execute(sql, &[Param::Int(Some(first)), page, Param::Int(Some(tip.seq)), hash]).await?;
    }
    Ok(tip)
}

/// Whether this very row is on disk.
pub(crate) async fn contains(db: &mut Conn<'_>, tip: Tip) -> Result<bool> {
    let Some((first, page)) = db.one::<(i64, String)>(LAST_PAGE, &params![tip.seq]).await? else { return Ok(false) };
    let row = (first..).zip(rows(&page)).find(|(seq, _)| *seq == tip.seq).and_then(|(_, row)| row);
    Ok(row.is_some_and(|row| row.hash == mainstay_core::hex(&tip.hash)))
}

/// Checks the head, which was read as its number and its hash.
pub(crate) fn check_head(head: Option<(i64, Vec<u8>)>) -> Result<Tip> {
    let (seq, hash) = head.ok_or_else(|| StoreError::failed("the audit's head is missing from the database"))?;
    match Hash::try_from(hash) {
        Ok(hash) if (0..=i64::MAX / 2).contains(&seq) => Ok(Tip { seq, hash }),
        _ => Err(StoreError::failed("the audit's head in the database is damaged")),
    }
}
