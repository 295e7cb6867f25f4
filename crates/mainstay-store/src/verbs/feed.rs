use mainstay_core::BoxFuture;

use crate::sql::{Conn, Row};
use crate::store::Inner;
use crate::writer::Deed;
use crate::{FEED_MEMORY_MS, Feed, FeedHead, FeedPage, NewFeedPage, Result, StoreError};

/// Events kept at most, however many there are in an hour; and how many more before it is looked at.
const MOST: i64 = 1_000_000;
const SLACK: i64 = 10_000;

const HEAD: &str = "SELECT seq, floor, listened_ms FROM feed_head WHERE id = 1";
const SET_HEAD: &str = "UPDATE feed_head SET seq = $1, floor = $2, listened_ms = $3 WHERE id = 1";
const APPEND: &str = "INSERT INTO feed (first_seq, last_seq, at_ms, events) VALUES ($1, $2, $3, $4)";
const AFTER: &str = "SELECT first_seq, last_seq, events FROM feed WHERE last_seq > $1 ORDER BY last_seq LIMIT $2";
const LAST_OLD: &str = "SELECT COALESCE(MAX(last_seq), 0) FROM feed WHERE at_ms <= $1";
const DROP: &str = "DELETE FROM feed WHERE last_seq <= $1";

async fn read_head(db: &mut Conn<'_>) -> Result<FeedHead> {
    head(db.row(HEAD, &[]).await?.as_ref())
}

async fn write_head(db: &mut Conn<'_>, head: FeedHead) -> Result<()> {
    db.run(SET_HEAD, &[head.seq.into(), head.floor.into(), head.listened_ms.into()]).await.map(drop)
}

struct Listen {
    now_ms: i64,
}

impl Deed for Listen {
    type Given = FeedHead;

    async fn run(&self, db: &mut Conn<'_>) -> Result<FeedHead> {
        let mut head = read_head(db).await?;
        if head.listened_ms.saturating_add(FEED_MEMORY_MS) <= self.now_ms {
            // The number that is left out stands for everything nobody wrote down.
            head.seq += 1;
            head.floor = head.seq;
        }
        head.listened_ms = head.listened_ms.max(self.now_ms);
        write_head(db, head).await?;
        Ok(head)
    }
}

impl Deed for NewFeedPage {
    type Given = i64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<i64> {
        let mut head = read_head(db).await?;
        let first = head.seq + 1;
        head.seq += i64::from(self.count);
        db.run(APPEND, &[first.into(), head.seq.into(), self.now_ms.into(), (&self.events).into()]).await?;
        if head.seq - head.floor > MOST + SLACK {
            head.floor = head.seq - MOST;
            db.run(DROP, &[head.floor.into()]).await?;
        }
        write_head(db, head).await?;
        Ok(head.seq)
    }
}

struct Sweep {
    now_ms: i64,
}

impl Deed for Sweep {
    type Given = u64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<u64> {
        let until = self.now_ms.saturating_sub(FEED_MEMORY_MS);
        let last = db.row(LAST_OLD, &[until.into()]).await?.map_or(Ok(0), |row| row.int(0))?;
        if last == 0 {
            return Ok(0);
        }
        let head = read_head(db).await?;
        write_head(db, FeedHead { floor: head.floor.max(last), ..head }).await?;
        db.run(DROP, &[last.into()]).await
    }
}

impl Feed for Inner {
    fn head(&self) -> BoxFuture<'_, Result<FeedHead>> {
        Box::pin(async move { head(self.readers.row(HEAD, &[]).await?.as_ref()) })
    }

    fn listen(&self, now_ms: i64) -> BoxFuture<'_, Result<FeedHead>> {
        Box::pin(self.writer.perform(Listen { now_ms }))
    }

    fn append(&self, page: NewFeedPage) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.writer.perform(page))
    }

    fn after(&self, seq: i64, limit: u32) -> BoxFuture<'_, Result<Vec<FeedPage>>> {
        let values = [seq.into(), i64::from(limit).into()];
        Box::pin(async move { self.readers.rows(AFTER, &values).await?.iter().map(page).collect() })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.perform(Sweep { now_ms }))
    }
}

fn head(row: Option<&Row>) -> Result<FeedHead> {
    let row = row.ok_or_else(|| StoreError::failed("the feed has no head"))?;
    Ok(FeedHead { seq: row.int(0)?, floor: row.int(1)?, listened_ms: row.int(2)? })
}

fn page(row: &Row) -> Result<FeedPage> {
    Ok(FeedPage { first: row.int(0)?, last: row.int(1)?, events: row.text(2)? })
}
