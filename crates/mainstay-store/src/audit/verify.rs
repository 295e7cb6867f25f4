//! Walking the whole chain, in one snapshot and in constant memory.

use std::collections::HashMap;

use super::index::{Mark, block_of, block_start, marks};
use super::page::{Record, Tip, records};
use super::{no_head, shown, tip};
use crate::sql::{Conn, Readers, params};
use crate::{AuditFault, AuditReport, Result};

/// How many pages are in memory at a time.
const STRIDE: &str = "SELECT first_seq, entries FROM audit WHERE first_seq > $1 ORDER BY first_seq LIMIT 8";
const MARKS: &str =
    "SELECT first_seq, marks FROM audit_seen WHERE first_seq >= $1 AND first_seq < $2 ORDER BY first_seq";

pub(crate) async fn verify(readers: &Readers) -> Result<AuditReport> {
    let mut connection = readers.snapshot().await?;
    let mut db = connection.conn();
    let head = db.one("SELECT seq, hash FROM audit_head WHERE id = 1", &[], tip).await?.ok_or_else(no_head)?;
    let mut walk = Walk { at: Tip::START, head, block: None, marked: HashMap::new() };
    let fault = walk.run(&mut db).await?;
    Ok(AuditReport { rows: walk.at.seq, head: shown(&head), fault })
}

struct Walk {
    /// The newest row that is as it should be.
    at: Tip,
    head: Tip,
    /// The block whose marks are at hand, and for each the page that left it first.
    block: Option<i64>,
    marked: HashMap<Mark, i64>,
}

impl Walk {
    async fn run(&mut self, db: &mut Conn<'_>) -> Result<Option<AuditFault>> {
        let mut after = i64::MIN;
        loop {
            let pages = db.all(STRIDE, &params![after], |row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?))).await?;
            if pages.is_empty() {
                return Ok(self.end());
            }
            for (first, page) in pages {
                after = first;
                if self.block != Some(block_of(after)) {
                    self.learn_marks(db, block_of(after)).await?;
                }
                if let Some(fault) = self.page(after, &page) {
                    return Ok(Some(fault));
                }
            }
        }
    }

    async fn learn_marks(&mut self, db: &mut Conn<'_>, block: i64) -> Result<()> {
        self.block = Some(block);
        self.marked.clear();
        let range = params![block_start(block), block_start(block + 1)];
        for (first, left) in db.all(MARKS, &range, |row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?))).await? {
            for mark in marks(&left) {
                self.marked.entry(mark).or_insert(first);
            }
        }
        Ok(())
    }

    fn page(&mut self, first: i64, bytes: &[u8]) -> Option<AuditFault> {
        let next = self.at.seq + 1;
        if first < next {
            return Some(AuditFault::Changed { seq: first });
        }
        if first > next && next <= self.head.seq {
            return Some(AuditFault::Missing { seq: next });
        }
        if first > self.head.seq {
            return Some(AuditFault::BeyondHead { seq: first, head: self.head.seq });
        }
        if bytes.is_empty() {
            return Some(AuditFault::Changed { seq: first });
        }
        records(bytes).find_map(|record| self.record(first, record.as_ref()))
    }

    fn record(&mut self, page: i64, record: Option<&Record<'_>>) -> Option<AuditFault> {
        let seq = self.at.seq + 1;
        if seq > self.head.seq {
            return Some(AuditFault::BeyondHead { seq, head: self.head.seq });
        }
        let sound = record.map(|record| (self.at.follow(record.canonical), record));
        match sound {
            Some((next, record)) if next.hash == record.hash && self.findable(page, record) => {
                self.at = next;
                None
            }
            Some(_) | None => Some(AuditFault::Changed { seq }),
        }
    }

    /// A row without its marks would be hidden from those who ask for its session.
    fn findable(&self, page: i64, record: &Record<'_>) -> bool {
        let marked = |mark| self.marked.get(&mark).is_some_and(|&since| since <= page);
        marked(Mark::principal(record.stored.principal))
            && record.stored.session.is_none_or(|session| marked(Mark::session(session)))
    }

    fn end(&self) -> Option<AuditFault> {
        if self.at.seq < self.head.seq {
            return Some(AuditFault::TailMissing { seq: self.at.seq + 1, head: self.head.seq });
        }
        // Every row follows from the one before, and yet the head remembers another last one.
        (self.at.hash != self.head.hash).then_some(AuditFault::Changed { seq: self.head.seq })
    }
}
