//! The writer's own task: wait, gather, commit, answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::deed::Job;
use super::group::Group;
use super::queue::Taken;
use super::shared::Shared;
use crate::ledger::{self, Lines, Sightings, Tip};
use crate::sql::{Conn, Link, Readers, Source};
use crate::{Result, StoreError, StoreOptions};

/// How soon a failing writer tries again by itself.
const RETRY: Duration = Duration::from_millis(250);

/// How long closing waits for readers that are still at it.
const FAREWELL: Duration = Duration::from_secs(5);

// Whoever has the head writes; all others, in this program or on other replicas, wait for the commit. That makes every
// deed whole, and since the head is always the first lock there is nothing to deadlock on.
const SQLITE_BEGIN: &str = "BEGIN IMMEDIATE; SELECT seq, hash FROM audit_head WHERE id = 1";
const POSTGRES_BEGIN: &str = "BEGIN; SELECT seq, hash FROM audit_head WHERE id = 1 FOR UPDATE";

const PROBE: &str = "UPDATE audit_head SET seq = seq WHERE id = 1";

pub(super) struct Task {
    source: Source,
    link: Option<Link>,
    readers: Readers,
    shared: Arc<Shared>,
    patience: Duration,
    sightings: Sightings,
    /// Noted rows that could not be written, and since when.
    backlog: Lines,
    failing_since: Option<Instant>,
    in_doubt: Option<InDoubt>,
}

/// A commit that gave an error may have happened all the same, when only its answer was lost.
#[derive(Clone, Copy)]
struct InDoubt {
    tip: Tip,
    noted: usize,
}

/// Where in its transaction a group failed.
enum Setback {
    /// In one of its deeds, or in its rows: the others may do better without it.
    Inside(StoreError),
    /// Before or after all of them.
    Whole(StoreError),
    /// While committing.
    Commit(StoreError, Tip),
}

/// Lets those who wait for the end go on if the task is dropped before it.
struct Unfinished(Arc<Shared>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.end(Err(StoreError::Closed));
    }
}

pub(super) async fn run(mut task: Task) {
    let _unfinished = Unfinished(task.shared.clone());
    while let Some(taken) = task.next().await {
        task.shared.set_in_hand(taken.len() + task.backlog.len());
        task.write(taken).await;
        task.shared.set_in_hand(task.backlog.len());
    }
    let outcome = task.finish().await;
    task.shared.end(outcome);
}

impl Task {
    pub(super) fn new(
        source: Source,
        link: Link,
        readers: Readers,
        shared: Arc<Shared>,
        options: &StoreOptions,
    ) -> Self {
        Self {
            source,
            link: Some(link),
            readers,
            shared,
            patience: options.note_patience,
            sightings: Sightings::default(),
            backlog: Lines::default(),
            failing_since: None,
            in_doubt: None,
        }
    }

    /// What is to be written next; nothing in it means that it is time to try again. `None` ends the writer.
    async fn next(&self) -> Option<Taken> {
        let taken = self.shared.queue.take();
        if self.failing_since.is_none() {
            return taken.await;
        }
        timeout(RETRY, taken).await.unwrap_or_else(|_| Some(Taken::default()))
    }

    async fn write(&mut self, taken: Taken) {
        let doubt = self.settle_doubt().await;
        let mut group = Group::new(std::mem::take(&mut self.backlog), taken);
        if let Err(error) = doubt {
            group.settle_jobs(&Err(error.clone()));
            self.lines_failed(group, Setback::Whole(error));
            return;
        }
        let Group { jobs, lines, .. } = &mut group;
        match self.together(jobs, lines).await {
            Ok(tip) => {
                group.settle_jobs(&Ok(()));
                self.lines_written(group, tip);
            }
            Err(Setback::Inside(error)) if group.jobs.len() + usize::from(!group.lines.is_empty()) > 1 => {
                tracing::debug!(%error, "a group of writes failed; trying each alone");
                self.apart(group).await;
            }
            Err(Setback::Inside(error)) if !group.jobs.is_empty() => {
                // The fault of this one deed. The connection was fine, and there are no rows.
                group.settle_jobs(&Err(error));
                group.lines_written(0);
            }
            Err(setback) => {
                group.settle_jobs(&Err(setback.error().clone()));
                self.lines_failed(group, setback);
            }
        }
    }

    /// Every deed in a transaction of its own, and then the rows.
    async fn apart(&mut self, mut group: Group) {
        for mut job in std::mem::take(&mut group.jobs) {
            let outcome = self.together(std::slice::from_mut(&mut job), &Lines::default()).await;
            job.settle(outcome.map(drop).map_err(Setback::into_error));
        }
        match self.together(&mut [], &group.lines).await {
            Ok(tip) => self.lines_written(group, tip),
            Err(setback) => self.lines_failed(group, setback),
        }
    }

    /// One transaction. When it fails, nothing of it has happened, unless it failed while committing.
    async fn together(&mut self, jobs: &mut [Box<dyn Job>], lines: &Lines) -> Result<Tip, Setback> {
        let used_before = self.link.is_some();
        let mut outcome = self.attempt(jobs, lines).await;
        if outcome.is_err() {
            self.roll_back().await;
        }
        // The server may have hung up since the last group. That is no reason to refuse this one.
        if matches!(outcome, Err(Setback::Whole(_))) && used_before && self.link.is_none() {
            outcome = self.attempt(jobs, lines).await;
            if outcome.is_err() {
                self.roll_back().await;
            }
        }
        outcome
    }

    async fn attempt(&mut self, jobs: &mut [Box<dyn Job>], lines: &Lines) -> Result<Tip, Setback> {
        let mut db = connected(&mut self.link, &self.source).await.map_err(Setback::Whole)?;
        let begin = db.engine().pick(SQLITE_BEGIN, POSTGRES_BEGIN);
        let head = db.script_row(begin).await.map_err(Setback::Whole)?;
        let mut tip = ledger::tip(head.as_ref()).map_err(Setback::Whole)?;
        for job in jobs.iter_mut() {
            job.run(&mut db).await.map_err(Setback::Inside)?;
        }
        if jobs.is_empty() && lines.is_empty() {
            db.script(PROBE).await.map_err(Setback::Whole)?;
        }
        tip = ledger::append(&mut db, tip, lines, &mut self.sightings).await.map_err(Setback::Inside)?;
        db.script("COMMIT").await.map_err(|error| Setback::Commit(error, tip))?;
        Ok(tip)
    }

    /// A connection that cannot even roll back is not used again; the engine undoes what it had begun.
    async fn roll_back(&mut self) {
        self.sightings.forget();
        if let Some(mut link) = self.link.take()
            && link.conn().script("ROLLBACK").await.is_ok()
        {
            self.link = Some(link);
        }
    }

    fn lines_written(&mut self, group: Group, tip: Tip) {
        group.lines_written(tip.seq);
        if self.failing_since.take().is_some() {
            tracing::info!("the store can write again");
            self.shared.set_healthy();
        }
    }

    fn lines_failed(&mut self, group: Group, setback: Setback) {
        let error = setback.error().clone();
        self.backlog = group.lines_failed(&error);
        if let Setback::Commit(_, tip) = setback
            && !self.backlog.is_empty()
        {
            self.in_doubt = Some(InDoubt { tip, noted: self.backlog.len() });
        }
        self.shared.set_failing(&error);
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        tracing::error!(%error, waiting = self.backlog.len(), "the store cannot write");
        if since.elapsed() > self.patience {
            self.give_up_notes();
        }
    }

    /// Rows that turn out to be on disk are not written a second time.
    async fn settle_doubt(&mut self) -> Result<()> {
        let Some(InDoubt { tip, noted }) = self.in_doubt else { return Ok(()) };
        let mut db = connected(&mut self.link, &self.source).await?;
        match ledger::holds(&mut db, tip).await {
            Ok(held) => {
                self.backlog.skip(if held { noted } else { 0 });
                self.in_doubt = None;
                Ok(())
            }
            Err(error) => {
                self.link = None;
                Err(error)
            }
        }
    }

    fn give_up_notes(&mut self) {
        if self.backlog.is_empty() {
            return;
        }
        tracing::error!(rows = self.backlog.len(), "audit rows are lost: they could not be written for too long");
        self.shared.lose(self.backlog.len());
        self.backlog = Lines::default();
        self.in_doubt = None;
    }

    async fn finish(&mut self) -> Result<()> {
        if !self.backlog.is_empty() {
            self.write(Taken::default()).await;
        }
        let lost = self.backlog.len();
        self.give_up_notes();
        // SQLite can fold its log into the database only when nobody reads from it.
        let _ = timeout(FAREWELL, self.readers.close()).await;
        if let Some(link) = self.link.take() {
            link.close().await?;
        }
        match lost {
            0 => Ok(()),
            rows => Err(StoreError::failed(format!("{rows} noted audit rows could not be written before closing"))),
        }
    }
}

async fn connected<'l>(link: &'l mut Option<Link>, source: &Source) -> Result<Conn<'l>> {
    let link = match link {
        Some(link) => link,
        none => none.insert(source.connect().await.map_err(|error| StoreError::from_driver(&error))?),
    };
    Ok(link.conn())
}

impl Setback {
    const fn error(&self) -> &StoreError {
        match self {
            Self::Inside(error) | Self::Whole(error) | Self::Commit(error, _) => error,
        }
    }

    fn into_error(self) -> StoreError {
        match self {
            Self::Inside(error) | Self::Whole(error) | Self::Commit(error, _) => error,
        }
    }
}
