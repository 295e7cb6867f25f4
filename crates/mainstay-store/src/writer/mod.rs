//! The one writer: everything that changes the database waits in its queue, and what waits together is committed
//! together.

mod deed;
mod group;
mod queue;
mod shared;
mod task;
mod transaction;

use std::sync::Arc;

use tokio::sync::oneshot;

pub(crate) use deed::{Deed, Rehearsed, Statement};

use crate::ledger::Lines;
use crate::sql::{Link, Param, Readers, Source};
use crate::{AuditEntry, Result, StoreError, StoreOptions};
use queue::Item;
use shared::Shared;

/// The way into the queue. The writer ends, when this is gone, with what was in it.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl Writer {
    pub(crate) fn start(source: Source, link: Link, readers: Readers, options: &StoreOptions) -> Self {
        let shared = Arc::new(Shared::new(options));
        tokio::spawn(task::run(task::Task::new(source, link, readers, shared.clone(), options)));
        Self { shared }
    }

    /// Resolves once the deed is on disk. Once queued it happens, whether or not anybody still waits for it.
    pub(crate) async fn perform<D: Deed>(&self, deed: D) -> Result<D::Given> {
        let (job, answer) = deed::awaited(deed);
        self.shared.queue.send(Item::Job(job)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Resolves with the number of rows changed.
    pub(crate) async fn change(&self, sql: &'static str, params: Vec<Param>) -> Result<u64> {
        self.perform(Statement { sql, params }).await
    }

    pub(crate) async fn append(&self, entry: AuditEntry) -> Result<i64> {
        let (waiter, answer) = oneshot::channel();
        let mut line = Lines::default();
        line.push(&entry);
        self.shared.queue.send(Item::Append(line, waiter)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    pub(crate) async fn flush(&self) -> Result<()> {
        let (waiter, answer) = oneshot::channel();
        self.shared.queue.send(Item::Flush(waiter)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    pub(crate) fn note(&self, entry: &AuditEntry) -> Result<()> {
        self.shared.healthy()?;
        self.shared.queue.note(entry)
    }

    pub(crate) fn queued(&self) -> usize {
        self.shared.queue.len() + self.shared.in_hand()
    }

    pub(crate) fn healthy(&self) -> Result<()> {
        if self.shared.queue.is_closed() { Err(StoreError::Closed) } else { self.shared.healthy() }
    }

    pub(crate) fn failing(&self) -> bool {
        self.shared.healthy().is_err()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost()
    }

    pub(crate) async fn close(&self) -> Result<()> {
        self.shared.queue.close();
        self.shared.ended().await
    }
}
