//! Reading the audit, newest first.

use super::canonical::cut;
use super::index::{Mark, block_of, block_start};
use super::page::records;
use crate::sql::{Conn, Readers, params};
use crate::{AuditQuery, AuditRow, Result, StoreError};

const PAGES: &str = "SELECT first_seq, entries FROM audit WHERE first_seq >= $1 AND first_seq < $2 \
     ORDER BY first_seq DESC LIMIT 4";
const SQLITE_SEEN: &str = "SELECT first_seq FROM audit_seen WHERE first_seq < $1 AND instr(marks, $2) > 0 \
     ORDER BY first_seq DESC LIMIT 1";
const POSTGRES_SEEN: &str = "SELECT first_seq FROM audit_seen WHERE first_seq < $1 AND position($2 IN marks) > 0 \
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
    // A session is rarer than a principal, so it says better where to look.
    let rarest = search.session.map(Mark::session).or_else(|| search.principal.map(Mark::principal));
    match rarest {
        Some(mark) => search.blocks(mark).await?,
        None => search.pages(i64::MIN, search.before).await?,
    }
    Ok(search.found)
}

struct Search<'q> {
    db: Conn<'q>,
    session: Option<&'q str>,
    principal: Option<&'q str>,
    before: i64,
    limit: usize,
    found: Vec<AuditRow>,
}

impl Search<'_> {
    /// The marked blocks, newest first.
    async fn blocks(&mut self, mark: Mark) -> Result<()> {
        let sql = self.db.engine().pick(SQLITE_SEEN, POSTGRES_SEEN);
        let mut end = self.before;
        while self.found.len() < self.limit {
            let found = self.db.one(sql, &params![end, mark.to_bytes()], |row| row.get::<i64>(0)).await?;
            let Some(block) = found.map(block_of) else { break };
            self.pages(block_start(block), end.min(block_start(block + 1))).await?;
            end = block_start(block);
        }
        Ok(())
    }

    /// The pages that begin in this range, newest first.
    async fn pages(&mut self, start: i64, mut end: i64) -> Result<()> {
        while self.found.len() < self.limit {
            let pages = self
                .db
                .all(PAGES, &params![start, end], |row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?)))
                .await?;
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

    fn page(&mut self, first: i64, bytes: &[u8]) -> Result<()> {
        let fits = self.found.len();
        for (seq, record) in (first..self.before).zip(records(bytes)) {
            let record = record.ok_or_else(|| {
                StoreError::failed(format!("audit row {seq} is damaged; `verify` says what can be trusted"))
            })?;
            let wanted = self.session.is_none_or(|session| record.stored.session == Some(session))
                && self.principal.is_none_or(|principal| record.stored.principal == principal);
            if wanted {
                let hash = mainstay_core::hex(&record.hash);
                self.found.push(AuditRow { seq, entry: record.stored.to_entry(), hash });
            }
        }
        self.found[fits..].reverse();
        self.found.truncate(self.limit);
        Ok(())
    }
}
