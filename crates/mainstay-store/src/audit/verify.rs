//! Checking the whole chain, in one snapshot of the database and in constant memory: first the files of the archive,
//! then the pages.
//!
//! The check is strict about the text: a page has to be byte for byte what the writer would have written. So a change
//! that leaves the JSON with the same meaning, such as white space, is found as well.

use std::collections::HashMap;
use std::path::Path;

use super::chain::{self, StoredRow, Tip, check_head};
use super::index::{Mark, block_of, block_start, marks};
use super::segment::{SegmentOperation, Wanted, check_file, segment_after};
use crate::sql::{Conn, Readers, params};
use crate::{AuditFault, AuditHead, AuditReport, Result};

/// Eight pages are in memory at a time.
const PAGES: &str = "SELECT first_seq, entries FROM audit_page WHERE first_seq > $1 ORDER BY first_seq LIMIT 8";
const MARKS: &str =
    "SELECT first_seq, marks FROM audit_index WHERE first_seq >= $1 AND first_seq < $2 ORDER BY first_seq";

/// `archive` is the directory of the segments. `noted` is a head that was written down elsewhere: the chain has to
/// contain it.
pub(crate) async fn verify(
    readers: &Readers,
    archive: Option<&Path>,
    noted: Option<&AuditHead>,
) -> Result<AuditReport> {
    let mut connection = readers.snapshot().await?;
    let mut db = connection.conn();
    let head = check_head(db.one("SELECT seq, hash FROM audit_head WHERE id = 1", &[]).await?)?;
    let mut check = Check {
        last: Tip::START,
        head,
        block: None,
        marked: HashMap::new(),
        removed: 0,
        archived: 0,
        wanted: Wanted { seq: noted.map(|noted| noted.seq), ..Wanted::default() },
    };
    let fault = match check.segments(&mut db, archive).await? {
        Some(fault) => Some(fault),
        None => check.run(&mut db).await?,
    };
    let fault = fault.or_else(|| check.removal_on_record()).or_else(|| check.compare(noted));
    let head = AuditHead { seq: head.seq, hash: mainstay_core::hex(&head.hash) };
    let Check { last, removed, archived, .. } = check;
    Ok(AuditReport { rows: last.seq - removed, archived, removed, head, fault })
}

/// A check in progress.
struct Check {
    /// The newest row that is as it should be.
    last: Tip,
    head: Tip,
    /// The block whose marks are loaded, and for each mark the first page that left it.
    block: Option<i64>,
    marked: HashMap<Mark, i64>,
    /// How many rows retention has removed, and how many of the others are in the archive.
    removed: i64,
    archived: i64,
    /// The row of the noted head, and the row about what retention has removed.
    wanted: Wanted,
}

impl Check {
    /// Checks the files of the archive, oldest first. Where retention has removed files, the chain begins after them.
    async fn segments(&mut self, db: &mut Conn<'_>, archive: Option<&Path>) -> Result<Option<AuditFault>> {
        while let Some(segment) = segment_after(db, self.last.seq).await? {
            if segment.removed {
                self.wanted.target = Some(segment.target(SegmentOperation::Remove));
                self.last = check_head(Some((segment.last, segment.hash)))?;
                self.removed = self.last.seq;
                if self.wanted.seq == Some(self.removed) {
                    self.wanted.hash = Some(mainstay_core::hex(&self.last.hash));
                }
                continue;
            }
            if segment.first != self.last.seq + 1 {
                return Ok(Some(AuditFault::Missing { seq: self.last.seq + 1 }));
            }
            let checked = check_file(archive.map(Path::to_owned), segment, self.last, self.wanted.clone()).await?;
            self.archived += checked.last.seq - self.last.seq;
            (self.last, self.wanted) = (checked.last, checked.wanted);
            if checked.fault.is_some() {
                return Ok(checked.fault);
            }
        }
        Ok(None)
    }

    /// Rows that retention removed have a row about it in what is left. Without one somebody else has removed them.
    fn removal_on_record(&self) -> Option<AuditFault> {
        self.wanted.target.as_ref().map(|_| AuditFault::Missing { seq: 1 })
    }

    /// Of a chain that is consistent in itself: whether it is the one that was noted.
    fn compare(&self, noted: Option<&AuditHead>) -> Option<AuditFault> {
        let AuditHead { seq, .. } = *noted.filter(|noted| self.wanted.hash.as_ref() != Some(&noted.hash))?;
        Some(if seq >= self.removed { AuditFault::Rewritten { seq } } else { AuditFault::NotKept { seq } })
    }

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
        let indexed = row.filter(|row| self.is_indexed(page, row));
        let Some((next, row)) = indexed.and_then(|row| Some((row.follows(self.last)?, row))) else {
            return Some(AuditFault::Changed { seq });
        };
        self.last = next;
        self.wanted.look(next, row);
        None
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
