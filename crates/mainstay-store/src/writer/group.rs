//! Items that are committed together, and how each of them learns what came of it.

use tokio::sync::oneshot;

use super::deed::Job;
use super::queue::{Item, Taken};
use crate::ledger::Lines;
use crate::{Result, StoreError};

#[derive(Default)]
pub(super) struct Group {
    pub(super) jobs: Vec<Box<dyn Job>>,
    /// The rows for the audit: first those nobody waits for, then one for each of the waiters.
    pub(super) lines: Lines,
    waiters: Vec<oneshot::Sender<Result<i64>>>,
    flushes: Vec<oneshot::Sender<Result<()>>>,
}

impl Group {
    /// Rows that failed before come first: they happened first.
    pub(super) fn new(backlog: Lines, taken: Taken) -> Self {
        let mut group = Self { lines: backlog, ..Self::default() };
        group.lines.append(taken.notes);
        for item in taken.items {
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

    pub(super) fn settle_jobs(&mut self, committed: &Result<()>) {
        for job in self.jobs.drain(..) {
            job.settle(committed.clone());
        }
    }

    /// The rows are on disk, the last of them as row `last`.
    pub(super) fn lines_written(self, last: i64) {
        // A waiter that has gone away changes nothing: the row is there.
        for (seq, waiter) in (0..=last).rev().zip(self.waiters.into_iter().rev()) {
            let _ = waiter.send(Ok(seq));
        }
        for waiter in self.flushes {
            let _ = waiter.send(Ok(()));
        }
    }

    /// The rows are not on disk. Those who wait are told; what was noted is handed back, to be tried again.
    pub(super) fn lines_failed(mut self, error: &StoreError) -> Lines {
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
