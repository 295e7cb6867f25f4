//! What is committed together: one transaction with the jobs in their order, then the audit rows; and how each caller
//! learns the outcome.

use tokio::sync::oneshot;

use super::job::Job;
use super::queue::{Batch, Item};
use crate::audit::{self, EncodedRows, Index, Tip};
use crate::sql::{Conn, Connector, WriteConnection};
use crate::{Result, StoreError};

// The transaction that has locked the audit's head is the only one that writes; all others, in this program or on
// other replicas, wait for its commit. That makes every operation atomic, and since the head is always the first lock
// there is nothing to deadlock on.
const SQLITE_BEGIN: &str = "BEGIN IMMEDIATE; SELECT seq, hash FROM audit_head WHERE id = 1";
const POSTGRES_BEGIN: &str = "BEGIN; SELECT seq, hash FROM audit_head WHERE id = 1 FOR UPDATE";

/// A write that changes nothing, to see whether writing works.
const PROBE: &str = "UPDATE audit_head SET seq = seq WHERE id = 1";

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

/// Where in its transaction a group failed. Nothing of it is on disk, except perhaps in the last case.
pub(super) enum GroupError {
    /// Outside of its parts, such as on connecting.
    Whole(StoreError),
    /// In one of its parts: the others may succeed without it.
    Part(StoreError),
    /// On commit. It may be on disk after all, if only the answer was lost.
    Commit(StoreError, Tip),
}

impl GroupError {
    pub(super) const fn error(&self) -> &StoreError {
        match self {
            Self::Whole(error) | Self::Part(error) | Self::Commit(error, _) => error,
        }
    }
}

/// What to do with a part that fails.
#[derive(Clone, Copy)]
pub(super) enum OnFailure {
    /// Roll back the group. Costs nothing as long as nothing fails.
    Abort,
    /// Roll back the part, by a savepoint for each, and commit the others, still in one commit: a caller who can make
    /// an operation fail must not be able to make all others commit one by one.
    Skip,
}

/// What was committed: the newest audit row, and whether the group's own rows are on disk.
pub(super) struct Committed {
    pub(super) tip: Tip,
    pub(super) rows: Result<()>,
}

/// The connection, which is opened again after it broke, and what has been indexed through it.
pub(super) struct Committer {
    connector: Connector,
    connection: Option<WriteConnection>,
    index: Index,
}

impl Committer {
    pub(super) fn new(connector: Connector, connection: WriteConnection) -> Self {
        Self { connector, connection: Some(connection), index: Index::default() }
    }

    /// Commits everything or nothing.
    pub(super) async fn commit_all(&mut self, group: &mut Group) -> Result<Committed, GroupError> {
        let was_connected = self.connection.is_some();
        let outcome = self.commit(group, OnFailure::Abort).await;
        // The server may have closed the connection since the last group. A new connection may do.
        if matches!(outcome, Err(GroupError::Whole(_))) && was_connected && self.connection.is_none() {
            return self.commit(group, OnFailure::Abort).await;
        }
        outcome
    }

    /// One attempt. What fails to commit is rolled back.
    pub(super) async fn commit(&mut self, group: &mut Group, on_failure: OnFailure) -> Result<Committed, GroupError> {
        let outcome = self.execute(group, on_failure).await;
        if outcome.is_err() {
            self.roll_back().await;
        }
        outcome
    }

    /// One transaction, from BEGIN to COMMIT.
    async fn execute(&mut self, group: &mut Group, on_failure: OnFailure) -> Result<Committed, GroupError> {
        let Self { connector, connection, index } = self;
        let mut db = connected(connection, connector).await.map_err(GroupError::Whole)?;
        let begin = db.engine().pick(SQLITE_BEGIN, POSTGRES_BEGIN);
        let head = db.script_row(begin).await.map_err(GroupError::Whole)?;
        let tip = audit::check_head(head).map_err(GroupError::Whole)?;
        if group.jobs.is_empty() && group.rows.is_empty() {
            db.script(PROBE).await.map_err(GroupError::Whole)?;
        }
        for job in &mut group.jobs {
            begin_part(&mut db, on_failure).await?;
            let outcome = job.run(&mut db).await;
            end_part(&mut db, on_failure, &outcome).await?;
        }
        begin_part(&mut db, on_failure).await?;
        let appended = audit::append(&mut db, tip, &group.rows, index).await;
        end_part(&mut db, on_failure, &appended).await?;
        if appended.is_err() {
            index.forget();
        }
        let committed = Committed { tip: *appended.as_ref().unwrap_or(&tip), rows: appended.map(drop) };
        match db.script("COMMIT").await {
            Ok(()) => Ok(committed),
            Err(error) => Err(GroupError::Commit(error, committed.tip)),
        }
    }

    /// A connection that cannot even roll back is not used again; the engine undoes what it had begun.
    async fn roll_back(&mut self) {
        self.index.forget();
        let Some(mut connection) = self.connection.take() else { return };
        // SQLite rolls back by itself when the disk is full, and then has nothing to roll back.
        let usable = connection.conn().script("ROLLBACK").await.is_ok()
            || connection.conn().script("BEGIN; ROLLBACK").await.is_ok();
        if usable {
            self.connection = Some(connection);
        }
    }

    /// Whether this very audit row is on disk.
    pub(super) async fn contains(&mut self, tip: Tip) -> Result<bool> {
        let found = match connected(&mut self.connection, &self.connector).await {
            Ok(mut db) => audit::contains(&mut db, tip).await,
            Err(error) => Err(error),
        };
        if found.is_err() {
            self.connection = None;
        }
        found
    }

    pub(super) async fn close(self) -> Result<()> {
        match self.connection {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }
}

async fn connected<'c>(connection: &'c mut Option<WriteConnection>, connector: &Connector) -> Result<Conn<'c>> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(connector.connect().await?),
    };
    Ok(connection.conn())
}

async fn begin_part(db: &mut Conn<'_>, on_failure: OnFailure) -> Result<(), GroupError> {
    match on_failure {
        OnFailure::Abort => Ok(()),
        OnFailure::Skip => db.script("SAVEPOINT part").await.map_err(GroupError::Whole),
    }
}

async fn end_part<T>(db: &mut Conn<'_>, on_failure: OnFailure, outcome: &Result<T>) -> Result<(), GroupError> {
    match (on_failure, outcome) {
        (OnFailure::Abort, Ok(_)) => Ok(()),
        (OnFailure::Abort, Err(error)) => Err(GroupError::Part(error.clone())),
        (OnFailure::Skip, Ok(_)) => db.script("RELEASE SAVEPOINT part").await.map_err(GroupError::Whole),
        (OnFailure::Skip, Err(_)) => {
            db.script("ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part").await.map_err(GroupError::Whole)
        }
    }
}
