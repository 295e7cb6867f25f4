//! Recent events, numbered in one order for all replicas, so that a client that reconnects can read what it missed.

use super::Database;
use crate::sql::{Conn, from_columns, params};
use crate::writer::{Writer, transaction};
use crate::{Result, StoreError};

/// How long an event is kept, and how long recording goes on after the last listener has gone.
pub const FEED_RETENTION_MS: i64 = 3_600_000;

/// Events kept at most, however many an hour brings, and how many more there may be before the oldest are deleted.
const MOST_EVENTS: i64 = 1_000_000;
const SLACK: i64 = 10_000;

/// Events written together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The number of its first event, and of its last.
    pub first: i64,
    pub last: i64,
    /// A JSON array. The store does not look into it.
    pub events: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedHead {
    /// The newest number in use.
    pub seq: i64,
    /// Events up to this number are deleted or were never recorded: a client that has read less has a gap.
    pub floor: i64,
    /// When a client last listened.
    pub listened_ms: i64,
}

const HEAD: &str = "SELECT seq, floor, listened_ms FROM feed_head WHERE id = 1";
const SET_HEAD: &str = "UPDATE feed_head SET seq = $1, floor = $2, listened_ms = $3 WHERE id = 1";
const APPEND: &str = "INSERT INTO feed (first_seq, last_seq, at_ms, events) VALUES ($1, $2, $3, $4)";
const AFTER: &str = "SELECT first_seq, last_seq, events FROM feed WHERE last_seq > $1 ORDER BY last_seq LIMIT $2";
const LAST_EXPIRED: &str = "SELECT COALESCE(MAX(last_seq), 0) FROM feed WHERE at_ms <= $1";
const DELETE: &str = "DELETE FROM feed WHERE last_seq <= $1";

/// The event feed of all replicas.
#[derive(Clone, Copy)]
pub struct Feed<'s>(pub(crate) &'s Database);

impl Feed<'_> {
    pub async fn head(self) -> Result<FeedHead> {
        self.0.readers.one(HEAD, &[]).await?.ok_or_else(no_head)
    }

    /// Records that a client listens. If none has for as long as events are kept, nothing was recorded meanwhile: that
    /// is a gap, and the floor rises.
    pub async fn listen(self, now_ms: i64) -> Result<FeedHead> {
        transaction!(self.0.writer, now_ms, |db, now_ms| {
            let mut head = load_head(db).await?;
            if head.listened_ms.saturating_add(FEED_RETENTION_MS) <= *now_ms {
                // The number that is left out stands for the events that were not recorded.
                head.seq += 1;
                head.floor = head.seq;
            }
            head.listened_ms = head.listened_ms.max(*now_ms);
            write_head(db, head).await?;
            Ok(head)
        })
    }

    /// Numbers the events, a JSON array with `count` items, and stores them; resolves with the last number.
    pub async fn append(self, events: String, count: u32, now_ms: i64) -> Result<i64> {
        transaction!(self.0.writer, (events, count, now_ms), |db, (events, count, now_ms)| {
            let mut head = load_head(db).await?;
            let first = head.seq + 1;
            head.seq += i64::from(*count);
            db.execute(APPEND, &params![first, head.seq, now_ms, events]).await?;
            if head.seq - head.floor > MOST_EVENTS + SLACK {
                head.floor = head.seq - MOST_EVENTS;
                db.execute(DELETE, &params![head.floor]).await?;
            }
            write_head(db, head).await?;
            Ok(head.seq)
        })
    }

    /// Pages with an event after this number, oldest first.
    pub async fn after(self, seq: i64, limit: u32) -> Result<Vec<FeedPage>> {
        self.0.readers.all(AFTER, &params![seq, limit]).await
    }
}

/// Deletes expired events and raises the floor over them.
pub(super) async fn sweep(writer: &Writer, now_ms: i64) -> Result<u64> {
    transaction!(writer, now_ms.saturating_sub(FEED_RETENTION_MS), |db, until_ms| {
        let last = db.one(LAST_EXPIRED, &params![until_ms]).await?.unwrap_or(0);
        delete_until(db, last).await
    })
}

/// Deletes events up to this number, and raises the floor over them.
pub(super) async fn delete_until(db: &mut Conn<'_>, last: i64) -> Result<u64> {
    if last == 0 {
        return Ok(0);
    }
    let head = load_head(db).await?;
    write_head(db, FeedHead { floor: head.floor.max(last), ..head }).await?;
    db.execute(DELETE, &params![last]).await
}

async fn load_head(db: &mut Conn<'_>) -> Result<FeedHead> {
    db.one(HEAD, &[]).await?.ok_or_else(no_head)
}

async fn write_head(db: &mut Conn<'_>, head: FeedHead) -> Result<()> {
    db.execute(SET_HEAD, &params![head.seq, head.floor, head.listened_ms]).await.map(drop)
}

fn no_head() -> StoreError {
    StoreError::failed("the feed's head is missing from the database")
}

from_columns!(FeedHead { seq, floor, listened_ms });
from_columns!(FeedPage { first, last, events });
