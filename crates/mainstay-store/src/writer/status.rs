//! What the writer lets others know of itself.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::queue::Queue;
use crate::{Result, StoreError, StoreOptions};

pub(super) struct Shared {
    pub(super) queue: Queue,
    /// EncodedRows and items taken from the queue and not yet settled.
    in_hand: AtomicUsize,
    /// Noted rows given up.
    lost: AtomicU64,
    failing: AtomicBool,
    why: Mutex<String>,
    ended: watch::Sender<Option<Result<()>>>,
}

impl Shared {
    pub(super) fn new(options: &StoreOptions) -> Self {
        Self {
            queue: Queue::new(options.queue, options.group, options.linger),
            in_hand: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            why: Mutex::default(),
            ended: watch::Sender::new(None),
        }
    }

    pub(super) fn set_in_hand(&self, count: usize) {
        self.in_hand.store(count, Ordering::Relaxed);
    }

    pub(super) fn in_hand(&self) -> usize {
        self.in_hand.load(Ordering::Relaxed)
    }

    pub(super) fn lose(&self, rows: usize) {
        self.lost.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn set_failing(&self, error: &StoreError) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
        self.failing.store(true, Ordering::Release);
    }

    pub(super) fn set_healthy(&self) {
        self.failing.store(false, Ordering::Release);
    }

    pub(super) fn healthy(&self) -> Result<()> {
        if self.failing.load(Ordering::Acquire) {
            let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(StoreError::failed(format!("writing has been failing: {why}")));
        }
        Ok(())
    }

    /// Resolves when the writer has written everything and let go of the database.
    pub(super) async fn ended(&self) -> Result<()> {
        let mut ended = self.ended.subscribe();
        let outcome = ended.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        outcome.clone().unwrap_or(Ok(()))
    }

    /// Only the first outcome counts.
    pub(super) fn end(&self, outcome: Result<()>) {
        self.queue.close();
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(outcome);
            }
            first
        });
    }
}
