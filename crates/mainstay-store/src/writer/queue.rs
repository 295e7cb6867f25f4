//! What waits to be written, and how the writer is doing: what its handle and its task share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::time::timeout;

use super::job::Job;
use crate::audit::EncodedRows;
use crate::{AuditEntry, Result, StoreError, StoreOptions};

/// A write that a caller waits for.
pub(super) enum Item {
    /// One audit row; the caller gets its number.
    Append(EncodedRows, oneshot::Sender<Result<i64>>),
    Flush(oneshot::Sender<Result<()>>),
    Job(Box<dyn Job>),
}

/// What the writer takes from the queue at once.
#[derive(Default)]
pub(super) struct Batch {
    /// Audit rows that nobody waits for, in the order in which they were queued. They are written before the rows of
    /// `items`, so a flush covers every row that was queued before it.
    pub(super) rows: EncodedRows,
    pub(super) items: Vec<Item>,
}

impl Batch {
    pub(super) const fn len(&self) -> usize {
        self.rows.len() + self.items.len()
    }
}

/// Bounded in both kinds of content: a row that nobody waits for is rejected when the queue is full, and a caller that
/// waits anyway waits for room.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Notified of the first row in an empty queue, and of every item.
    arrived: Notify,
    room: Semaphore,
    limit: usize,
    group: usize,
    linger: Duration,
}

#[derive(Default)]
struct Waiting {
    batch: Batch,
    closed: bool,
}

impl Queue {
    pub(super) fn new(limit: usize, group: usize, linger: Duration) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            waiting: Mutex::default(),
            arrived: Notify::new(),
            room: Semaphore::new(limit),
            limit,
            group: group.max(1),
            linger,
        }
    }

    /// Queues an audit row that nobody waits for.
    pub(super) fn enqueue(&self, entry: &AuditEntry) -> Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        let rows = &mut waiting.batch.rows;
        if rows.len() >= self.limit {
            return Err(StoreError::Overloaded);
        }
        let first = rows.is_empty();
        rows.push(entry)?;
        drop(waiting);
        if first {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Queues a write, waiting for room.
    pub(super) async fn send(&self, item: Item) -> Result<()> {
        let permit = self.room.acquire().await.map_err(|_| StoreError::Closed)?;
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.batch.items.push(item);
        drop(waiting);
        permit.forget();
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits until there is something to write, and takes it; `None` once the queue is closed and empty.
    pub(super) async fn take(&self) -> Option<Batch> {
        loop {
            let (rows, items, closed) = self.state();
            if items == 0 && rows > 0 && rows < self.group && !closed {
                // Rows that nobody waits for wait for more of them; an item takes them all along.
                let _ = timeout(self.linger, self.item()).await;
            } else if items == 0 && rows == 0 {
                if closed {
                    return None;
                }
                self.arrived.notified().await;
                continue;
            }
            return Some(self.take_now());
        }
    }

    /// Resolves when there is an item, or nothing more can come.
    async fn item(&self) {
        loop {
            let (_, items, closed) = self.state();
            if items > 0 || closed {
                return;
            }
            self.arrived.notified().await;
        }
    }

    /// Takes all rows, and as many items as a group may have.
    fn take_now(&self) -> Batch {
        let mut waiting = self.waiting.lock();
        let mut batch = std::mem::take(&mut waiting.batch);
        if batch.items.len() > self.group {
            waiting.batch.items = batch.items.split_off(self.group);
        }
        drop(waiting);
        self.room.add_permits(batch.items.len());
        batch
    }

    /// What is queued is still taken; nothing more is accepted.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.room.close();
        self.arrived.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.lock().batch.len()
    }

    /// Queued rows, queued items, and whether the queue is closed.
    fn state(&self) -> (usize, usize, bool) {
        let waiting = self.waiting.lock();
        (waiting.batch.rows.len(), waiting.batch.items.len(), waiting.closed)
    }
}

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
        *self.failure.lock() = error.to_string();
        self.failing.store(true, Ordering::Release);
    }

    pub(super) fn set_healthy(&self) {
        self.failing.store(false, Ordering::Release);
    }

    pub(super) fn healthy(&self) -> Result<()> {
        if self.failing.load(Ordering::Acquire) {
            let failure = self.failure.lock();
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
