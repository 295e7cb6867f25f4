//! What is committed together, and how each part of it learns what came of it.

use tokio::sync::oneshot;

use super::job::Job;
use super::queue::{Batch, Item};
use crate::audit::EncodedRows;
use crate::{Result, StoreError};

#[derive(Default)]
pub(super) struct Group {
    pub(super) jobs: Vec<Box<dyn Job>>,
    /// The rows for the audit: first those nobody waits for, then one for each of the waiters.
    pub(super) lines: EncodedRows,
    waiters: Vec<oneshot::Sender<Result<i64>>>,
    flushes: Vec<oneshot::Sender<Result<()>>>,
}

// A waiter that has gone away changes nothing, so nobody minds when telling it fails.
impl Group {
    /// EncodedRows that failed before come first: they happened first.
    pub(super) fn new(backlog: EncodedRows, batch: Batch) -> Self {
        let mut group = Self { lines: backlog, ..Self::default() };
        group.lines.append(batch.notes);
        for item in batch.items {
            match item {
                Item::Append(line, waiter) => {
                    group.lines.append(line);
                    group.waiters.push(waiter);
                }
                Item::Flush(waiter) => group.flushes.push(waiter),
                Item::Job(job) => group.jobs.push(job),
            }
        }
        group
    }

    /// Whether a failure inside may be the fault of one part, and the others be better off without it.
    pub(super) const fn has_parts(&self) -> bool {
        self.jobs.len() + !self.lines.is_empty() as usize > 1
    }

    pub(super) fn settle_jobs(&mut self, committed: &Result<()>) {
        for job in self.jobs.drain(..) {
            job.settle(committed.clone());
        }
    }

    /// Everything is on disk, the last of the rows as row `last`.
    pub(super) fn succeed(mut self, last: i64) {
        self.settle_jobs(&Ok(()));
        for (seq, waiter) in (0..=last).rev().zip(self.waiters.into_iter().rev()) {
            let _ = waiter.send(Ok(seq));
        }
        for waiter in self.flushes {
            let _ = waiter.send(Ok(()));
        }
    }

    /// Nothing is on disk. Those who wait are told; what was noted is handed back, to be tried again.
    pub(super) fn fail(mut self, error: &StoreError) -> EncodedRows {
        self.settle_jobs(&Err(error.clone()));
        self.lines.truncate(self.lines.len() - self.waiters.len());
        for waiter in self.waiters {
            let _ = waiter.send(Err(error.clone()));
        }
        for waiter in self.flushes {
            let _ = waiter.send(Err(error.clone()));
        }
        self.lines
    }
}
