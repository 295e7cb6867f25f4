//! The one writer: everything that changes the database waits in its queue, and what waits together is committed
//! together.
//!
//! A commit waits for the disk, so its cost is shared by all writes that arrive meanwhile. A caller is answered after
//! the commit, so what it was told is on disk. If one write of a group fails, the group is rolled back and repeated
//! without it. A lost connection is opened again.

mod commit;
mod job;
mod queue;
mod task;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::oneshot;

pub(crate) use job::Statements;
pub use job::WriteMode;

use crate::audit::EncodedRows;
use crate::sql::{Connector, Param, Readers, WriteConnection};
use crate::{AuditEntry, Result, StoreError, StoreOptions};
use queue::{Item, Shared};

/// Awaits [`Writer::transaction`] with the statements in a block: `db` is the connection, and the arguments are references.
/// A macro, because only a function pointer says that the future borrows from both, and so the future has to be boxed.
macro_rules! transaction {
    ($writer:expr, $arguments:expr, |$db:ident, $names:pat_param| $statements:block) => {
        $crate::writer::transaction!($writer, $crate::WriteMode::Commit, $arguments, |$db, $names| $statements)
    };
    ($writer:expr, $mode:expr, $arguments:expr, |$db:ident, $names:pat_param| $statements:block) => {
        $writer.transaction($mode, $arguments, |$db, $names| Box::pin(async move $statements)).await
    };
}
pub(crate) use transaction;

/// The handle of the writer. When it is dropped, the writer writes what is queued and ends.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl Writer {
    pub(crate) fn start(
        connector: Connector,
        connection: WriteConnection,
        readers: Readers,
        options: &StoreOptions,
    ) -> Self {
        let shared = Arc::new(Shared::new(options));
        tokio::spawn(task::run(task::Task::new(connector, connection, readers, shared.clone(), options)));
        Self { shared }
    }

    /// Resolves once the operation is on disk; a dry run resolves with the result, and nothing is changed. Once queued
    /// it happens, whether or not anybody still waits for it.
    pub(crate) async fn transaction<A: Send + Sync + 'static, T: Send + Sync + 'static>(
        &self,
        mode: WriteMode,
        arguments: A,
        run: Statements<A, T>,
    ) -> Result<T> {
        self.send(|caller| Item::Job(job::new(mode, arguments, run, caller))).await
    }

    /// An operation of one statement; resolves with the number of rows it changed.
    pub(crate) async fn change(&self, sql: &'static str, params: impl Into<Vec<Param>>) -> Result<u64> {
        transaction!(self, (sql, params.into()), |db, (sql, params)| { db.execute(*sql, params).await })
    }

    /// Resolves with the number of the audit row once it is on disk.
    pub(crate) async fn append(&self, entry: &AuditEntry) -> Result<i64> {
        let mut row = EncodedRows::default();
        row.push(entry)?;
        self.send(|caller| Item::Append(row, caller)).await
    }

    /// Resolves once every audit row queued before is on disk.
    pub(crate) async fn flush(&self) -> Result<()> {
        self.send(Item::Flush).await
    }

    /// Queues what is made of the sender of its outcome, and waits for the outcome.
    async fn send<T>(&self, item: impl FnOnce(oneshot::Sender<Result<T>>) -> Item) -> Result<T> {
        let (caller, outcome) = oneshot::channel();
        self.shared.queue.send(item(caller)).await?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Queues an audit row without waiting; fails at once while writing fails.
    pub(crate) fn enqueue(&self, entry: &AuditEntry) -> Result<()> {
        self.shared.healthy()?;
        self.shared.queue.enqueue(entry)
    }

    /// Writes that are queued, in progress or to be tried again.
    pub(crate) fn queued(&self) -> usize {
        self.shared.queue.len() + self.shared.in_progress.load(Relaxed)
    }

    /// An error while writing fails, or once the store is closed.
    pub(crate) fn healthy(&self) -> Result<()> {
        if self.shared.queue.is_closed() { Err(StoreError::Closed) } else { self.shared.healthy() }
    }

    pub(crate) fn failing(&self) -> bool {
        self.shared.healthy().is_err()
    }

    /// Audit rows given up.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Relaxed)
    }

    /// Takes no more writes, and resolves once the queued ones are on disk and the database is closed.
    pub(crate) async fn close(&self) -> Result<()> {
        self.shared.queue.close();
        self.shared.ended().await
    }
}
