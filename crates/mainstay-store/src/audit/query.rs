//! Reading the audit log, newest first.
//!
//! A query without a filter reads pages from the end until it has enough. One for a session or a principal asks the
//! index for the blocks in which it occurs, and reads only those.

use super::chain;
use super::index::{Mark, block_of, block_start};
use super::rows::cut;
use crate::sql::{Conn, Readers, params};
use crate::{AuditQuery, AuditRow, Result, StoreError};

// Four pages at a time, because most queries want fewer rows than one page has.
const PAGES: &str = "SELECT first_seq, entries FROM audit_page WHERE first_seq >= $1 AND first_seq < $2 \
     ORDER BY first_seq DESC LIMIT 4";
const SQLITE_MARKED: &str = "SELECT first_seq FROM audit_index WHERE first_seq < $1 AND instr(marks, $2) > 0 \
     ORDER BY first_seq DESC LIMIT 1";
const POSTGRES_MARKED: &str = "SELECT first_seq FROM audit_index WHERE first_seq < $1 AND position($2 IN marks) > 0 \
     ORDER BY first_seq DESC LIMIT 1";

pub(crate) async fn query(readers: &Readers, query: &AuditQuery) -> Result<Vec<AuditRow>> {
    let mut connection = readers.acquire().await?;
    let mut search = Search {
        db: connection.conn(),
        session: query.session.as_deref().map(cut),
        principal: query.principal.as_deref().map(cut),
        before: query.before.unwrap_or(i64::MAX),
        limit: usize::try_from(query.limit).unwrap_or(usize::MAX),
        found: Vec::new(),
    };
    // A session occurs in fewer blocks than a principal, so it excludes more of them.
    let rarest = search.session.map(Mark::session).or_else(|| search.principal.map(Mark::principal));
    match rarest {
        Some(mark) => search.marked_blocks(mark).await?,
        None => search.pages(i64::MIN, search.before).await?,
    }
    Ok(search.found)
}

/// A query in progress.
struct Search<'q> {
    db: Conn<'q>,
    session: Option<&'q str>,
    principal: Option<&'q str>,
    before: i64,
    limit: usize,
    found: Vec<AuditRow>,
}

impl Search<'_> {
    /// Reads the blocks that have the mark, newest first.
    async fn marked_blocks(&mut self, mark: Mark) -> Result<()> {
        let sql = self.db.engine().pick(SQLITE_MARKED, POSTGRES_MARKED);
        let mut end = self.before;
        while self.found.len() < self.limit {
            let marked: Option<i64> = self.db.one(sql, &params![end, mark.to_bytes()]).await?;
            let Some(block) = marked.map(block_of) else { break };
            self.pages(block_start(block), end.min(block_start(block + 1))).await?;
            end = block_start(block);
        }
        Ok(())
    }

    /// Reads the pages that begin in this range, newest first.
    async fn pages(&mut self, start: i64, mut end: i64) -> Result<()> {
        while self.found.len() < self.limit {
            let pages = self.db.all::<(i64, String)>(PAGES, &params![start, end]).await?;
            if pages.is_empty() {
                break;
            }
            for (first, page) in pages {
                end = first;
                self.page(first, &page)?;
            }
        }
        Ok(())
    }

    /// Adds the rows of a page that match, newest first. A damaged row is an error: to leave it out would hide it.
    fn page(&mut self, first: i64, page: &str) -> Result<()> {
        let found_before = self.found.len();
        for (seq, row) in (first..self.before).zip(chain::rows(page)) {
            let row = row.and_then(|row| Some(AuditRow { seq, entry: row.entry()?, hash: row.hash.to_owned() }));
            let row = row.ok_or_else(|| {
                StoreError::failed(format!(
                    "audit row {seq} is damaged; run `mainstay audit verify` to see which rows to trust"
                ))
            })?;
            let wanted = self.session.is_none_or(|session| row.entry.session.as_deref() == Some(session))
                && self.principal.is_none_or(|principal| &*row.entry.principal == principal);
            if wanted {
                self.found.push(row);
            }
        }
        self.found[found_before..].reverse();
        self.found.truncate(self.limit);
        Ok(())
    }
}
