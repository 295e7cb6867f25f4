//! One operation in the writer's queue.

use mainstay_core::BoxFuture;
use tokio::sync::oneshot;

use crate::sql::Conn;
use crate::{Result, StoreError};

/// Whether a change is committed, or executed and rolled back to see what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    Commit,
    DryRun,
}

/// The statements of an operation: a change that happens as a whole or not at all.
///
/// They run inside a transaction that nobody else writes beside, on any replica, so what they read stays true until
/// the commit. They may run twice, because a group in which one operation fails is rolled back and repeated; so they
/// get their arguments by reference. A rejection is part of the result; an error means that the database failed.
pub(crate) type Statements<A, T> = for<'a> fn(&'a mut Conn<'_>, &'a A) -> BoxFuture<'a, Result<T>>;

/// An operation and the caller that waits for it, with their types erased.
pub(super) trait Job: Send {
    /// Keeps the result; a failure is also returned.
    fn run<'a>(&'a mut self, db: &'a mut Conn<'_>) -> BoxFuture<'a, Result<()>>;

    /// Answers the caller: with the result that was kept, or with the reason why it was not committed.
    fn settle(self: Box<Self>, committed: Result<()>);
}

struct Operation<A, T> {
    mode: WriteMode,
    arguments: A,
    statements: Statements<A, T>,
    result: Result<T>,
    caller: oneshot::Sender<Result<T>>,
}

impl<A: Sync, T> Operation<A, T> {
    async fn execute(&self, db: &mut Conn<'_>) -> Result<T> {
        match self.mode {
            WriteMode::Commit => (self.statements)(db, &self.arguments).await,
            WriteMode::DryRun => {
                db.script("SAVEPOINT dry_run").await?;
                let result = (self.statements)(db, &self.arguments).await?;
                db.script("ROLLBACK TO SAVEPOINT dry_run; RELEASE SAVEPOINT dry_run").await?;
                Ok(result)
            }
        }
    }
}

impl<A: Send + Sync, T: Send + Sync> Job for Operation<A, T> {
    fn run<'a>(&'a mut self, db: &'a mut Conn<'_>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.result = self.execute(db).await;
            self.result.as_ref().map(|_| ()).map_err(Clone::clone)
        })
    }

    fn settle(self: Box<Self>, committed: Result<()>) {
        // A caller that has gone away changes nothing: the operation is committed.
        let _ = self.caller.send(committed.and(self.result));
    }
}

/// The job, with the sender that takes its result to the caller.
pub(super) fn new<A: Send + Sync + 'static, T: Send + Sync + 'static>(
    mode: WriteMode,
    arguments: A,
    statements: Statements<A, T>,
    caller: oneshot::Sender<Result<T>>,
) -> Box<dyn Job> {
    Box::new(Operation { mode, arguments, statements, result: Err(StoreError::Closed), caller })
}
