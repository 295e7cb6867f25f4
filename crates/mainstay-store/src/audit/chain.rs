//! Appending to the chain, and its head.

use super::index::Index;
use super::page::{self, Hash, Tip};
use super::rows::EncodedRows;
use crate::sql::{Conn, Param, params};
use crate::{Result, StoreError};

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

/// Adds rows after `tip`, inside the transaction that read it; resolves with the new tip.
pub(crate) async fn append(db: &mut Conn<'_>, mut tip: Tip, rows: &EncodedRows, index: &mut Index) -> Result<Tip> {
    let mut rows = rows.iter();
    while rows.len() > 0 {
        let first = tip.seq + 1;
        let page_rows = rows.by_ref().take(PAGE_ROWS).inspect(|row| index.add(first, row.principal, row.session));
        let (page, next) = page::write(tip, page_rows)?;
        tip = next;
        if let Some(marks) = index.take_unwritten() {
            db.execute(APPEND_INDEX, &params![first, marks]).await?;
        }
        let sql = db.engine().pick(SQLITE_APPEND, POSTGRES_APPEND);
        // Moved and not copied, because a page can be hundreds of kilobytes.
        let page = Param::Text(Some(page));
        let hash = Param::Bytes(tip.hash.to_vec());
        db.execute(sql, &[Param::Int(first), page, Param::Int(tip.seq), hash]).await?;
    }
    Ok(tip)
}

/// Whether this very row is on disk.
pub(crate) async fn contains(db: &mut Conn<'_>, tip: Tip) -> Result<bool> {
    let Some((first, page)) = db.one::<(i64, String)>(LAST_PAGE, &params![tip.seq]).await? else { return Ok(false) };
    let row = (first..).zip(page::rows(&page)).find(|(seq, _)| *seq == tip.seq).and_then(|(_, row)| row);
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
