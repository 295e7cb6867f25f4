//! What the writer can be asked to do.

use mainstay_core::BoxFuture;
use tokio::sync::oneshot;

use crate::sql::{Conn, Param};
use crate::{Result, StoreError};

/// A change that happens as a whole or not at all.
///
/// It runs inside a transaction that nobody else writes beside, on any replica, so what it reads stays true until it
/// commits. It may run twice: when a neighbour in its group fails, the group is undone and done again without it.
/// A refusal is part of what it gives; an error means that the database failed.
pub(crate) trait Deed: Send + Sync + 'static {
    type Given: Send + 'static;

    fn run(&self, db: &mut Conn<'_>) -> impl Future<Output = Result<Self::Given>> + Send;
}

/// A deed of one statement; gives how many rows it changed.
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Param>,
}

impl Deed for Statement {
    type Given = u64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<u64> {
        db.run(self.sql, &self.params).await
    }
}

/// A deed that is done and undone again: it gives what it would have given, by the very statements.
pub(crate) struct Rehearsed<D>(pub(crate) D);

impl<D: Deed> Deed for Rehearsed<D> {
    type Given = D::Given;

    async fn run(&self, db: &mut Conn<'_>) -> Result<D::Given> {
        db.script("SAVEPOINT rehearsal").await?;
        let given = self.0.run(db).await?;
        db.script("ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal").await?;
        Ok(given)
    }
}

/// A deed somebody waits for, with its types erased.
pub(super) trait Job: Send {
    /// Keeps what the deed gave, or why it failed, and repeats the latter.
    fn run<'a>(&'a mut self, db: &'a mut Conn<'_>) -> BoxFuture<'a, Result<()>>;

    /// Tells the waiter: what was kept, or why nothing of it is on disk.
    fn settle(self: Box<Self>, committed: Result<()>);
}

struct Awaited<D: Deed> {
    deed: D,
    kept: Result<D::Given>,
    waiter: oneshot::Sender<Result<D::Given>>,
}

impl<D: Deed> Job for Awaited<D> {
    fn run<'a>(&'a mut self, db: &'a mut Conn<'_>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.kept = self.deed.run(db).await;
            self.kept.as_ref().map(|_| ()).map_err(Clone::clone)
        })
    }

    fn settle(self: Box<Self>, committed: Result<()>) {
        let Self { kept, waiter, .. } = *self;
        // A waiter that has gone away changes nothing: the deed is done.
        let _ = waiter.send(committed.and(kept));
    }
}

pub(super) fn awaited<D: Deed>(deed: D) -> (Box<dyn Job>, oneshot::Receiver<Result<D::Given>>) {
    let (waiter, answer) = oneshot::channel();
    (Box::new(Awaited { deed, kept: Err(StoreError::Closed), waiter }), answer)
}
