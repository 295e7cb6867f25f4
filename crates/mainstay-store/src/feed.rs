//! What happened lately, numbered in one order for all replicas, so that whoever was away hears what they missed.

use mainstay_core::BoxFuture;

use crate::Result;

/// How long an event is kept, and how long recording goes on after the last listener has gone.
pub const FEED_MEMORY_MS: i64 = 3_600_000;

/// Events written together. What an event is, the store does not ask.
#[derive(Debug, Clone)]
pub struct NewFeedPage {
    /// A JSON array with this many items.
    pub events: String,
    pub count: u32,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The number of its first event, and of its last.
    pub first: i64,
    pub last: i64,
    pub events: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedHead {
    /// The newest number given.
    pub seq: i64,
    /// Whoever has heard no more than something before this number has missed something for good.
    pub floor: i64,
    /// When somebody last listened.
    pub listened_ms: i64,
}

pub trait Feed: Send + Sync {
    fn head(&self) -> BoxFuture<'_, Result<FeedHead>>;

    /// Says that somebody listens. If nobody has for as long as events are kept, nothing was recorded meanwhile: that is
    /// a gap, and the floor rises.
    fn listen(&self, now_ms: i64) -> BoxFuture<'_, Result<FeedHead>>;

    /// Numbers the events and keeps them; gives the last number.
    fn append(&self, page: NewFeedPage) -> BoxFuture<'_, Result<i64>>;

    /// Pages with an event after this number, oldest first.
    fn after(&self, seq: i64, limit: u32) -> BoxFuture<'_, Result<Vec<FeedPage>>>;

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
