//! One transaction: the jobs in their order, then the rows.

use super::job::Job;
use crate::audit::{self, EncodedRows, Index, Tip};
use crate::sql::{Conn, Connector, WriteConnection};
use crate::{Result, StoreError};

// Whoever has the head writes; all others, in this program or on other replicas, wait for the commit. That makes every
// deed whole, and since the head is always the first lock there is nothing to deadlock on.
const SQLITE_BEGIN: &str = "BEGIN IMMEDIATE; SELECT seq, hash FROM audit_head WHERE id = 1";
const POSTGRES_BEGIN: &str = "BEGIN; SELECT seq, hash FROM audit_head WHERE id = 1 FOR UPDATE";

/// A write that changes nothing, to see whether writing works.
const PROBE: &str = "UPDATE audit_head SET seq = seq WHERE id = 1";

/// Where in its transaction a group failed. Nothing of it has happened, except perhaps in the last case.
pub(super) enum Setback {
    /// Before or beside its parts.
    Whole(StoreError),
    /// In one of its parts: the others may do better without it.
    Inside(StoreError),
    /// While committing, which may have happened all the same when only the answer was lost.
    Commit(StoreError, Tip),
}

impl Setback {
    pub(super) const fn error(&self) -> &StoreError {
        match self {
            Self::Whole(error) | Self::Inside(error) | Self::Commit(error, _) => error,
        }
    }
}

/// What was committed: the newest row, and whether the group's own rows are among those on disk.
pub(super) struct Committed {
    pub(super) tip: Tip,
    pub(super) lines: Result<()>,
}

/// The connection, which is made anew after it broke, and what has been marked through it.
pub(super) struct Committer {
    connector: Connector,
    connection: Option<WriteConnection>,
    index: Index,
}

impl Committer {
    pub(super) fn new(connector: Connector, connection: WriteConnection) -> Self {
        Self { connector, connection: Some(connection), index: Index::default() }
    }

    /// All or nothing.
    pub(super) async fn together(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        lines: &EncodedRows,
    ) -> Result<Committed, Setback> {
        let used_before = self.connection.is_some();
        let outcome = self.attempt(jobs, lines).await;
        // The server may have hung up since the last group. That is no reason to refuse this one.
        if matches!(outcome, Err(Setback::Whole(_))) && used_before && self.connection.is_none() {
            return self.attempt(jobs, lines).await;
        }
        outcome
    }

    async fn attempt(&mut self, jobs: &mut [Box<dyn Job>], lines: &EncodedRows) -> Result<Committed, Setback> {
        let outcome = self.try_together(jobs, lines).await;
        if outcome.is_err() {
            self.roll_back().await;
        }
        outcome
    }

    async fn try_together(&mut self, jobs: &mut [Box<dyn Job>], lines: &EncodedRows) -> Result<Committed, Setback> {
        let Self { connector, connection, index } = self;
        let mut db = connected(connection, connector).await.map_err(Setback::Whole)?;
        let mut tip = begin(&mut db).await?;
        for job in jobs.iter_mut() {
            job.run(&mut db).await.map_err(Setback::Inside)?;
        }
        if jobs.is_empty() && lines.is_empty() {
            db.script(PROBE).await.map_err(Setback::Whole)?;
        }
        tip = audit::append(&mut db, tip, lines, index).await.map_err(Setback::Inside)?;
        commit(&mut db, Committed { tip, lines: Ok(()) }).await
    }

    /// Everything but the parts that fail, still in one commit: somebody who can make a deed fail must not be able to
    /// make everybody else commit one by one.
    pub(super) async fn apart(&mut self, jobs: &mut [Box<dyn Job>], lines: &EncodedRows) -> Result<Committed, Setback> {
        let outcome = self.try_apart(jobs, lines).await;
        if outcome.is_err() {
            self.roll_back().await;
        }
        outcome
    }

    async fn try_apart(&mut self, jobs: &mut [Box<dyn Job>], lines: &EncodedRows) -> Result<Committed, Setback> {
        let Self { connector, connection, index } = self;
        let mut db = connected(connection, connector).await.map_err(Setback::Whole)?;
        let tip = begin(&mut db).await?;
        for job in jobs.iter_mut() {
            db.script("SAVEPOINT part").await.map_err(Setback::Whole)?;
            let done = job.run(&mut db).await;
            keep_or_undo(&mut db, done.is_ok()).await?;
        }
        db.script("SAVEPOINT part").await.map_err(Setback::Whole)?;
        let appended = audit::append(&mut db, tip, lines, index).await;
        keep_or_undo(&mut db, appended.is_ok()).await?;
        let committed = match appended {
            Ok(tip) => Committed { tip, lines: Ok(()) },
            Err(error) => {
                index.forget();
                Committed { tip, lines: Err(error) }
            }
        };
        commit(&mut db, committed).await
    }

    /// A connection that cannot even roll back is not used again; the engine undoes what it had begun.
    async fn roll_back(&mut self) {
        self.index.forget();
        let Some(mut connection) = self.connection.take() else { return };
        // SQLite rolls back by itself when the disk is full, and then has nothing to roll back.
        let whole = connection.conn().script("ROLLBACK").await.is_ok()
            || connection.conn().script("BEGIN; ROLLBACK").await.is_ok();
        if whole {
            self.connection = Some(connection);
        }
    }

    /// Whether this very row is on disk.
    pub(super) async fn holds(&mut self, tip: Tip) -> Result<bool> {
        let held = match connected(&mut self.connection, &self.connector).await {
            Ok(mut db) => audit::holds(&mut db, tip).await,
            Err(error) => Err(error),
        };
        if held.is_err() {
            self.connection = None;
        }
        held
    }

    pub(super) async fn close(self) -> Result<()> {
        match self.connection {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }
}

async fn connected<'l>(connection: &'l mut Option<WriteConnection>, connector: &Connector) -> Result<Conn<'l>> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(connector.connect().await?),
    };
    Ok(connection.conn())
}

async fn begin(db: &mut Conn<'_>) -> Result<Tip, Setback> {
    let begin = db.engine().pick(SQLITE_BEGIN, POSTGRES_BEGIN);
    let head = db.script_row(begin).await.map_err(Setback::Whole)?;
    let head = head.as_ref().map(audit::tip).transpose().map_err(Setback::Whole)?;
    head.ok_or_else(|| Setback::Whole(audit::no_head()))
}

async fn keep_or_undo(db: &mut Conn<'_>, keep: bool) -> Result<(), Setback> {
    let sql = if keep { "RELEASE SAVEPOINT part" } else { "ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part" };
    db.script(sql).await.map_err(Setback::Whole)
}

async fn commit(db: &mut Conn<'_>, committed: Committed) -> Result<Committed, Setback> {
    match db.script("COMMIT").await {
        Ok(()) => Ok(committed),
        Err(error) => Err(Setback::Commit(error, committed.tip)),
    }
}
