//! What the writer's task shares with the handle: the queue, and how it is doing.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::queue::Queue;
use crate::{Result, StoreError, StoreOptions};

/// One for each store, in the handle and in the task.
pub(super) struct Shared {
    pub(super) queue: Queue,
    /// Rows and items taken from the queue whose outcome is not known yet.
    pub(super) in_progress: AtomicUsize,
    /// Audit rows given up.
    pub(super) lost: AtomicU64,
    /// Beside `failure`, because it is read for every audit row.
    failing: AtomicBool,
    failure: Mutex<String>,
    ended: watch::Sender<Option<Result<()>>>,
}

impl Shared {
    pub(super) fn new(options: &StoreOptions) -> Self {
        Self {
            queue: Queue::new(options.queue, options.group, options.linger),
            in_progress: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            failure: Mutex::default(),
            ended: watch::Sender::new(None),
        }
    }

    pub(super) fn set_failing(&self, error: &StoreError) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
        self.failing.store(true, Ordering::Release);
    }

    pub(super) fn set_healthy(&self) {
        self.failing.store(false, Ordering::Release);
    }

    pub(super) fn healthy(&self) -> Result<()> {
        if self.failing.load(Ordering::Acquire) {
            let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(StoreError::failed(format!("writing has been failing: {failure}")));
        }
        Ok(())
    }

    /// Resolves when the writer has written everything and closed the database.
    pub(super) async fn ended(&self) -> Result<()> {
        let mut ended = self.ended.subscribe();
        let outcome = ended.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        outcome.clone().unwrap_or(Ok(()))
    }

    /// Closes the queue and answers everybody who waits for the end. Only the first outcome counts.
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
