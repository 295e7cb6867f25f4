//! What waits to be written.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::timeout;

use super::job::Job;
use crate::audit::EncodedRows;
use crate::{AuditEntry, Result, StoreError};

/// Something somebody waits for.
pub(super) enum Item {
    Append(EncodedRows, oneshot::Sender<Result<i64>>),
    Flush(oneshot::Sender<Result<()>>),
    Job(Box<dyn Job>),
}

/// What the writer takes at once.
#[derive(Default)]
pub(super) struct Batch {
    /// In the order they were noted, and each noted before any of the items that came after it.
    pub(super) notes: EncodedRows,
    pub(super) items: Vec<Item>,
}

impl Batch {
    pub(super) const fn len(&self) -> usize {
        self.notes.len() + self.items.len()
    }
}

pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Rings when something comes into an empty queue, and for every item.
    bell: Notify,
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
            bell: Notify::new(),
            room: Semaphore::new(limit),
            limit,
            group: group.max(1),
            linger,
        }
    }

    pub(super) fn enqueue(&self, entry: &AuditEntry) -> Result<()> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        let notes = &mut waiting.batch.notes;
        if notes.len() >= self.limit {
            return Err(StoreError::Overloaded);
        }
        let first = notes.is_empty();
        notes.push(entry);
        drop(waiting);
        if first {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Waits for room.
    pub(super) async fn send(&self, item: Item) -> Result<()> {
        let place = self.room.acquire().await.map_err(|_| StoreError::Closed)?;
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.batch.items.push(item);
        drop(waiting);
        place.forget();
        self.bell.notify_one();
        Ok(())
    }

    /// Waits until there is something to write, and takes it; `None` once the queue is closed and empty.
    pub(super) async fn take(&self) -> Option<Batch> {
        loop {
            let (notes, items, closed) = self.look();
            if items == 0 && notes > 0 && notes < self.group && !closed {
                // EncodedRows that nobody waits for wait for each other; an item takes them all along.
                let _ = timeout(self.linger, self.item()).await;
            } else if items == 0 && notes == 0 {
                if closed {
                    return None;
                }
                self.bell.notified().await;
                continue;
            }
            return Some(self.take_now());
        }
    }

    /// Resolves when there is an item, or nothing more can come.
    async fn item(&self) {
        loop {
            let (_, items, closed) = self.look();
            if items > 0 || closed {
                return;
            }
            self.bell.notified().await;
        }
    }

    fn take_now(&self) -> Batch {
        let mut waiting = self.waiting();
        let mut batch = std::mem::take(&mut waiting.batch);
        if batch.items.len() > self.group {
            waiting.batch.items = batch.items.split_off(self.group);
        }
        drop(waiting);
        self.room.add_permits(batch.items.len());
        batch
    }

    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.room.close();
        self.bell.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    pub(super) fn len(&self) -> usize {
        self.waiting().batch.len()
    }

    fn look(&self) -> (usize, usize, bool) {
        let waiting = self.waiting();
        (waiting.batch.notes.len(), waiting.batch.items.len(), waiting.closed)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
