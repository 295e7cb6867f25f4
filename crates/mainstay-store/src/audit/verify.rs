//! Checking the whole chain, in one snapshot of the database and in constant memory.
//!
//! The check is strict about the text: a page has to be byte for byte what the writer would have written. So a change
//! that leaves the JSON with the same meaning, such as white space, is found as well.

use std::collections::HashMap;

use super::chain::{self, StoredRow, Tip, check_head};
use super::index::{Mark, block_of, block_start, marks};
use crate::sql::{Conn, Readers, params};
use crate::{AuditFault, AuditHead, AuditReport, Result};

/// Eight pages are in memory at a time.
const PAGES: &str = "SELECT first_seq, entries FROM audit_page WHERE first_seq > $1 ORDER BY first_seq LIMIT 8";
const MARKS: &str =
    "SELECT first_seq, marks FROM audit_index WHERE first_seq >= $1 AND first_seq < $2 ORDER BY first_seq";

pub(crate) async fn verify(readers: &Readers) -> Result<AuditReport> {
    let mut connection = readers.snapshot().await?;
    let mut db = connection.conn();
    let head = check_head(db.one("SELECT seq, hash FROM audit_head WHERE id = 1", &[]).await?)?;
    let mut check = Check { last: Tip::START, head, block: None, marked: HashMap::new() };
    let fault = check.run(&mut db).await?;
    let head = AuditHead { seq: head.seq, hash: mainstay_core::hex(&head.hash) };
    Ok(AuditReport { rows: check.last.seq, head, fault })
}

/// A check in progress.
struct Check {
    /// The newest row that is as it should be.
    last: Tip,
    head: Tip,
    /// The block whose marks are loaded, and for each mark the first page that left it.
    block: Option<i64>,
    marked: HashMap<Mark, i64>,
}

impl Check {
    async fn run(&mut self, db: &mut Conn<'_>) -> Result<Option<AuditFault>> {
        let mut after = i64::MIN;
        loop {
            let pages = db.all::<(i64, String)>(PAGES, &params![after]).await?;
            if pages.is_empty() {
                return Ok(self.end());
            }
            for (first, page) in pages {
                after = first;
                if self.block != Some(block_of(first)) {
                    self.load_marks(db, block_of(first)).await?;
                }
                if let Some(fault) = self.page(first, &page) {
                    return Ok(Some(fault));
                }
            }
        }
    }

    async fn load_marks(&mut self, db: &mut Conn<'_>, block: i64) -> Result<()> {
        self.block = Some(block);
        self.marked.clear();
        let range = params![block_start(block), block_start(block + 1)];
        for (first, bytes) in db.all::<(i64, Vec<u8>)>(MARKS, &range).await? {
            for mark in marks(&bytes) {
                self.marked.entry(mark).or_insert(first);
            }
        }
        Ok(())
    }

    /// Where the page begins is checked before its rows: a gap or an overlap is named rather than its consequences.
    fn page(&mut self, first: i64, page: &str) -> Option<AuditFault> {
        let next = self.last.seq + 1;
        if first < next {
            return Some(AuditFault::Changed { seq: first });
        }
        if first > next && next <= self.head.seq {
            return Some(AuditFault::Missing { seq: next });
        }
        if first > self.head.seq {
            return Some(AuditFault::BeyondHead { seq: first, head: self.head.seq });
        }
        chain::rows(page).find_map(|row| self.row(first, row.as_ref()))
    }

    fn row(&mut self, page: i64, row: Option<&StoredRow<'_>>) -> Option<AuditFault> {
        let seq = self.last.seq + 1;
        if seq > self.head.seq {
            return Some(AuditFault::BeyondHead { seq, head: self.head.seq });
        }
        match row.map(|row| (self.last.follow(row.canonical.as_bytes()), row)) {
            Some((next, row)) if mainstay_core::hex(&next.hash) == row.hash && self.is_indexed(page, row) => {
                self.last = next;
                None
            }
            Some(_) | None => Some(AuditFault::Changed { seq }),
        }
    }

    /// A row without its marks would be hidden from a query for its session or principal.
    fn is_indexed(&self, page: i64, row: &StoredRow<'_>) -> bool {
        let marked = |mark| self.marked.get(&mark).is_some_and(|&since| since <= page);
        row.entry().is_some_and(|entry| {
            marked(Mark::principal(&entry.principal))
                && entry.session.is_none_or(|session| marked(Mark::session(&session)))
        })
    }

    /// After the last page: whether rows are missing at the end, or the head was changed.
    fn end(&self) -> Option<AuditFault> {
        if self.last.seq < self.head.seq {
            return Some(AuditFault::TailMissing { seq: self.last.seq + 1, head: self.head.seq });
        }
        // Every row follows from the one before, and yet the head has another hash for the last one.
        (self.last.hash != self.head.hash).then_some(AuditFault::Changed { seq: self.head.seq })
    }
}
