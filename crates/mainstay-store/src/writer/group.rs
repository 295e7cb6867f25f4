//! What is committed together, and how each caller learns the outcome.

use tokio::sync::oneshot;

use super::job::Job;
use super::queue::{Batch, Item};
use crate::audit::EncodedRows;
use crate::{Result, StoreError};

/// The content of one transaction, with the callers that wait for it.
#[derive(Default)]
pub(super) struct Group {
    pub(super) jobs: Vec<Box<dyn Job>>,
    /// The audit rows: first those that nobody waits for, then one for each of the waiters.
    pub(super) rows: EncodedRows,
    waiters: Vec<oneshot::Sender<Result<i64>>>,
    flushes: Vec<oneshot::Sender<Result<()>>>,
}

// A caller that has gone away changes nothing, so it does not matter when answering it fails.
impl Group {
    /// Rows that could not be written before come first, because they happened first.
    pub(super) fn new(backlog: EncodedRows, batch: Batch) -> Self {
        let mut group = Self { rows: backlog, ..Self::default() };
        group.rows.append(batch.rows);
        for item in batch.items {
            match item {
                Item::Append(row, waiter) => {
                    group.rows.append(row);
                    group.waiters.push(waiter);
                }
                Item::Flush(waiter) => group.flushes.push(waiter),
                Item::Job(job) => group.jobs.push(job),
            }
        }
        group
    }

    /// Whether a failure may be that of one part, so that the others can be committed without it.
    pub(super) const fn has_parts(&self) -> bool {
        self.jobs.len() + !self.rows.is_empty() as usize > 1
    }

    pub(super) fn settle_jobs(&mut self, committed: &Result<()>) {
        for job in self.jobs.drain(..) {
            job.settle(committed.clone());
        }
    }

    /// Everything is on disk; `last` is the number of the last audit row.
    pub(super) fn succeed(mut self, last: i64) {
        self.settle_jobs(&Ok(()));
        for (seq, waiter) in (0..=last).rev().zip(self.waiters.into_iter().rev()) {
            let _ = waiter.send(Ok(seq));
        }
        for waiter in self.flushes {
            let _ = waiter.send(Ok(()));
        }
    }

    /// Nothing is on disk. Callers get the error; rows that nobody waits for are returned, to be tried again.
    pub(super) fn fail(mut self, error: &StoreError) -> EncodedRows {
        self.settle_jobs(&Err(error.clone()));
        self.rows.truncate(self.rows.len() - self.waiters.len());
        for waiter in self.waiters {
            let _ = waiter.send(Err(error.clone()));
        }
        for waiter in self.flushes {
            let _ = waiter.send(Err(error.clone()));
        }
        self.rows
    }
}
