//! How the audit is kept: rows in pages, pages in a chain.
//!
//! A page is what one group of the writer committed, so that twenty thousand rows a second cost a hundred inserts. It
//! holds nothing but each row's canonical bytes and hash: what a query returns is decoded from the very bytes that
//! the chain covers.
//!
//! Whoever can write the whole database can also write a new chain. A copy of the head, kept elsewhere, shows that too.

mod canonical;
mod index;
mod page;
mod query;
mod rows;
mod types;
mod verify;

use crate::sql::{Conn, Row, params};
use crate::{Result, StoreError};

pub(crate) use index::Index;
pub(crate) use page::{Hash, Tip};
pub(crate) use query::query;
pub(crate) use rows::EncodedRows;
pub use types::{AuditEntry, AuditFault, AuditHead, AuditQuery, AuditReport, AuditRow, Phase};
pub(crate) use verify::verify;

/// The most rows in one page: a reader takes in a page at a time.
const PAGE_ROWS: usize = 1024;

const SQLITE_APPEND: &str = "INSERT INTO audit (first_seq, entries) VALUES ($1, $2); \
     UPDATE audit_head SET seq = $3, hash = $4 WHERE id = 1";
const POSTGRES_APPEND: &str = "WITH page AS (INSERT INTO audit (first_seq, entries) VALUES ($1, $2)) \
     UPDATE audit_head SET seq = $3, hash = $4 WHERE id = 1";

/// Adds rows after `tip`, inside the transaction that read it.
pub(crate) async fn append(db: &mut Conn<'_>, mut tip: Tip, lines: &EncodedRows, index: &mut Index) -> Result<Tip> {
    let mut lines = lines.iter();
    while lines.len() > 0 {
        let first = tip.seq + 1;
        let (page, next) = page::write(tip, lines.by_ref().take(PAGE_ROWS).inspect(|line| index.see(first, line)));
        tip = next;
        if let Some(marks) = index.unrecorded() {
            db.execute("INSERT INTO audit_seen (first_seq, marks) VALUES ($1, $2)", &params![first, marks]).await?;
        }
        let sql = db.engine().pick(SQLITE_APPEND, POSTGRES_APPEND);
        db.execute(sql, &params![first, page, tip.seq, tip.hash.to_vec()]).await?;
    }
    Ok(tip)
}

/// Whether this very row is on disk.
pub(crate) async fn holds(db: &mut Conn<'_>, tip: Tip) -> Result<bool> {
    let page = "SELECT first_seq, entries FROM audit WHERE first_seq <= $1 ORDER BY first_seq DESC LIMIT 1";
    let found = db.one(page, &params![tip.seq], |row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?))).await?;
    let Some((first, bytes)) = found else { return Ok(false) };
    let held = (first..).zip(page::records(&bytes)).find(|(seq, _)| *seq == tip.seq).and_then(|(_, record)| record);
    Ok(held.is_some_and(|record| record.hash == tip.hash))
}

/// Reads a head: its number and its hash, in this order.
pub(crate) fn tip(row: &Row) -> Result<Tip> {
    let (seq, hash) = (row.get::<i64>(0)?, Hash::try_from(row.get::<Vec<u8>>(1)?.as_slice()));
    match hash {
        Ok(hash) if (0..=i64::MAX / 2).contains(&seq) => Ok(Tip { seq, hash }),
        Ok(_) | Err(_) => Err(StoreError::failed("the audit's head in the database is damaged")),
    }
}

pub(crate) fn no_head() -> StoreError {
    StoreError::failed("the audit's head is missing from the database")
}

fn shown(tip: &Tip) -> AuditHead {
    AuditHead { seq: tip.seq, hash: mainstay_core::hex(&tip.hash) }
}
