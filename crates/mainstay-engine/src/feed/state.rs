//! What the feed holds in memory: the buffer of events to be stored, and the newest stored pages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use mainstay_core::{Clock, Event, iso8601};
use mainstay_store::{FEED_RETENTION_MS, FeedHead};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::event::{Called, FeedEvent, Page};

/// The most events in the buffer; further ones are counted and dropped, so that a store that is down costs no memory.
const BUFFERED: usize = 10_000;

/// Stored pages kept in memory for listeners that keep up; others read from the store.
const RECENT: usize = 64;

pub(crate) struct Feed {
    clock: Arc<dyn Clock>,
    buffer: Mutex<Buffer>,
    /// Wakes the writing task.
    pub(super) wake: Notify,
    /// How many listeners this process has.
    pub(super) listeners: AtomicUsize,
    recorded_until_ms: AtomicI64,
    pub(super) recent: Mutex<RecentPages>,
    /// The newest number that can be read.
    pub(super) newest: watch::Sender<i64>,
    /// Locked while events are written: one writer at a time.
    pub(super) writer: tokio::sync::Mutex<WriterState>,
}

#[derive(Default)]
pub(super) struct WriterState {
    /// The store has been asked whether anybody listened before this process started.
    pub(super) started: bool,
    /// When the store was last told that somebody listens.
    pub(super) marked_ms: i64,
    /// The server is stopping and the last events have been written.
    pub(super) finished: bool,
}

#[derive(Default)]
struct Buffer {
    events: Vec<FeedEvent>,
    dropped: u64,
}

/// All events with numbers above `from` and up to `until`.
#[derive(Default)]
pub(super) struct RecentPages {
    from: i64,
    pub(super) until: i64,
    pages: VecDeque<Arc<Page>>,
}

impl Feed {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            buffer: Mutex::default(),
            wake: Notify::new(),
            listeners: AtomicUsize::new(0),
            // Until the store has been asked, assume that somebody listened within the hour.
            recorded_until_ms: AtomicI64::new(i64::MAX),
            recent: Mutex::default(),
            newest: watch::Sender::new(0),
            writer: tokio::sync::Mutex::default(),
        }
    }

    /// Whether anybody listens, or has listened within the hour.
    pub(super) fn is_recording(&self) -> bool {
        self.clock.now_ms() < self.recorded_until_ms.load(Ordering::Relaxed)
    }

    /// Takes over from the store when somebody last listened, on any replica.
    pub(super) fn set_last_listened(&self, head: FeedHead) {
        self.recorded_until_ms.store(head.listened_ms.saturating_add(FEED_RETENTION_MS), Ordering::Relaxed);
    }

    pub(crate) fn record_change(&self, event: &Event) {
        self.record(|at| FeedEvent::of_change(event, at));
    }

    /// `shown` is the name people know the target by: a dialect's own, where it has one.
    pub(crate) fn record_call(&self, called: &Called, shown: &str, principal: &str, outcome: &str) {
        self.record(|at| FeedEvent::of_call(called, shown, principal, outcome, at));
    }

    /// Adds the event of this time to the buffer, if it would reach anybody. Never waits.
    fn record(&self, event: impl FnOnce(&str) -> Option<FeedEvent>) {
        if !self.is_recording() {
            return;
        }
        let Some(stored) = event(&iso8601(self.clock.now_ms())) else { return };
        let mut buffer = self.buffer.lock();
        if buffer.events.len() < BUFFERED {
            buffer.events.push(stored);
        } else {
            buffer.dropped += 1;
        }
        drop(buffer);
        self.wake.notify_one();
    }

    /// Empties the buffer. If events were dropped, the last one says how many.
    pub(super) fn take_buffer(&self) -> Vec<FeedEvent> {
        let Buffer { mut events, dropped } = std::mem::take(&mut *self.buffer.lock());
        if dropped > 0 {
            events.push(FeedEvent::dropped(dropped));
        }
        events
    }

    /// Counts events that could not be stored, so that the next page says so.
    pub(super) fn count_dropped(&self, count: usize) {
        self.buffer.lock().dropped += count as u64;
    }

    /// The page with the first event after this number if it is in memory; otherwise it has to be read from the store.
    pub(super) fn recent_after(&self, position: i64) -> Option<Arc<Page>> {
        let recent = self.recent.lock();
        if position < recent.from {
            return None;
        }
        recent.pages.iter().find(|page| page.last > position).cloned()
    }

    pub(super) fn add_recent(&self, page: Page) {
        let mut recent = self.recent.lock();
        recent.until = page.last;
        recent.pages.push_back(Arc::new(page));
        if recent.pages.len() > RECENT
            && let Some(old) = recent.pages.pop_front()
        {
            recent.from = old.last;
        }
    }

    /// Frees the pages in memory while nobody listens; the next listener starts from here.
    pub(super) fn clear_recent(&self, head: FeedHead) {
        *self.recent.lock() = RecentPages { from: head.seq, until: head.seq, pages: VecDeque::new() };
        self.newest.send_replace(head.seq);
    }
}
