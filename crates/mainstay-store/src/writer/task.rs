//! The writer's own task: wait, gather, commit, answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::commit::{Committer, Setback};
use super::group::Group;
use super::queue::Batch;
use super::status::Shared;
use crate::audit::{EncodedRows, Tip};
use crate::sql::{Connector, Readers, WriteConnection};
use crate::{Result, StoreError, StoreOptions};

/// How soon a failing writer tries again by itself.
const RETRY: Duration = Duration::from_millis(250);

/// How long closing waits for readers that are still at it.
const FAREWELL: Duration = Duration::from_secs(5);

pub(super) struct Task {
    committer: Committer,
    readers: Readers,
    shared: Arc<Shared>,
    patience: Duration,
    /// Noted rows that could not be written.
    backlog: EncodedRows,
    failing_since: Option<Instant>,
    in_doubt: Option<InDoubt>,
}

/// A commit that gave an error and may have happened: the last of its rows, and how many of them nobody waited for.
#[derive(Clone, Copy)]
struct InDoubt {
    tip: Tip,
    noted: usize,
}

/// Lets those who wait for the end go on if the task is dropped before it.
struct Unfinished(Arc<Shared>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.end(Err(StoreError::Closed));
    }
}

pub(super) async fn run(mut task: Task) {
    let unfinished = Unfinished(task.shared.clone());
    while let Some(batch) = task.next().await {
        task.shared.set_in_hand(batch.len() + task.backlog.len());
        task.write(batch).await;
        task.shared.set_in_hand(task.backlog.len());
    }
    let outcome = task.finish().await;
    unfinished.0.end(outcome);
}

impl Task {
    pub(super) fn new(
        connector: Connector,
        connection: WriteConnection,
        readers: Readers,
        shared: Arc<Shared>,
        options: &StoreOptions,
    ) -> Self {
        Self {
            committer: Committer::new(connector, connection),
            readers,
            shared,
            patience: options.note_patience,
            backlog: EncodedRows::default(),
            failing_since: None,
            in_doubt: None,
        }
    }

    /// What is to be written next; nothing in it means that it is time to try again. `None` ends the writer.
    async fn next(&self) -> Option<Batch> {
        let batch = self.shared.queue.take();
        if self.failing_since.is_none() {
            return batch.await;
        }
        timeout(RETRY, batch).await.unwrap_or_else(|_| Some(Batch::default()))
    }

    async fn write(&mut self, batch: Batch) {
        let doubt = self.settle_doubt().await;
        let mut group = Group::new(std::mem::take(&mut self.backlog), batch);
        if let Err(error) = doubt {
            return self.failed(group, &Setback::Whole(error));
        }
        let mut outcome = self.committer.together(&mut group.jobs, &group.lines).await;
        if let Err(Setback::Inside(error)) = &outcome {
            if !group.has_parts() && group.lines.is_empty() {
                // The fault of the only deed there is, and no sign that others would fare as ill.
                group.settle_jobs(&Err(error.clone()));
                return group.succeed(0);
            }
            if group.has_parts() {
                tracing::debug!(%error, "a write failed; the others of its group are tried without it");
                outcome = self.committer.apart(&mut group.jobs, &group.lines).await;
            }
        }
        // Before anybody is answered, who might look.
        self.shared.set_in_hand(0);
        match outcome {
            Ok(committed) => match committed.lines {
                Ok(()) => self.succeeded(group, committed.tip),
                Err(error) => {
                    group.settle_jobs(&Ok(()));
                    self.failed(group, &Setback::Inside(error));
                }
            },
            Err(setback) => self.failed(group, &setback),
        }
    }

    fn succeeded(&mut self, group: Group, tip: Tip) {
        if self.failing_since.take().is_some() {
            tracing::info!("the store can write again");
            self.shared.set_healthy();
        }
        group.succeed(tip.seq);
    }

    fn failed(&mut self, group: Group, setback: &Setback) {
        let error = setback.error();
        self.shared.set_failing(error);
        self.backlog = group.fail(error);
        if let Setback::Commit(_, tip) = setback
            && !self.backlog.is_empty()
        {
            self.in_doubt = Some(InDoubt { tip: *tip, noted: self.backlog.len() });
        }
        if self.failing_since.is_none() {
            tracing::error!(%error, "the store cannot write; it goes on trying");
        }
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.patience {
            self.give_up_notes();
        }
    }

    /// EncodedRows that turn out to be on disk are not written a second time.
    async fn settle_doubt(&mut self) -> Result<()> {
        let Some(InDoubt { tip, noted }) = self.in_doubt else { return Ok(()) };
        if self.committer.holds(tip).await? {
            self.backlog.skip(noted);
        }
        self.in_doubt = None;
        Ok(())
    }

    fn give_up_notes(&mut self) {
        if self.backlog.is_empty() {
            return;
        }
        tracing::error!(rows = self.backlog.len(), "audit rows are lost: they could not be written for too long");
        self.shared.lose(self.backlog.len());
        self.backlog = EncodedRows::default();
        self.in_doubt = None;
    }

    async fn finish(mut self) -> Result<()> {
        if !self.backlog.is_empty() {
            self.write(Batch::default()).await;
        }
        let lost = self.backlog.len();
        self.give_up_notes();
        // SQLite can fold its log into the database only when nobody reads from it.
        let _ = timeout(FAREWELL, self.readers.close()).await;
        self.committer.close().await?;
        match lost {
            0 => Ok(()),
            rows => Err(StoreError::failed(format!("{rows} noted audit rows could not be written before closing"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Location;
    use crate::{AuditEntry, Phase, audit, migrate};

    fn lines(count: i64) -> EncodedRows {
        let mut lines = EncodedRows::default();
        for number in 0..count {
            lines.push(&AuditEntry {
                at_ms: number,
                phase: Phase::Ended,
                request_id: String::new(),
                principal: "ann".into(),
                session: None,
                ip: None,
                target: String::new(),
                effect: String::new(),
                args_digest: String::new(),
                outcome: String::new(),
                duration_us: 0,
            });
        }
        lines
    }

    fn noted(count: i64) -> Batch {
        Batch { notes: lines(count), items: Vec::new() }
    }

    /// The head after a writer has tried to write five noted rows, and was told that the commit failed.
    async fn head_after_doubt(committed: bool) -> i64 {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("store.db"));
        let options = StoreOptions::default();
        let connector = Connector::new(&location, &options).unwrap();
        let mut connection = connector.connect().await.unwrap();
        migrate::migrate(&mut connection).await.unwrap();
        let readers = Readers::new(&location, &options);
        let mut task = Task::new(connector, connection, readers.clone(), Arc::new(Shared::new(&options)), &options);

        task.write(noted(3)).await;
        if committed {
            task.write(noted(5)).await;
        }
        let head = readers.one("SELECT seq, hash FROM audit_head", &[], audit::tip).await.unwrap().unwrap();
        let tip = if committed { head } else { Tip { seq: head.seq + 5, ..head } };
        task.backlog = lines(5);
        task.in_doubt = Some(InDoubt { tip, noted: 5 });
        task.write(noted(2)).await;
        assert!(task.backlog.is_empty() && task.in_doubt.is_none());
        audit::verify(&readers).await.unwrap().head.seq
    }

    #[tokio::test]
    async fn rows_whose_commit_happened_after_all_are_not_written_twice() {
        assert_eq!(head_after_doubt(true).await, 3 + 5 + 2);
    }

    #[tokio::test]
    async fn rows_whose_commit_did_not_happen_are_written_again() {
        assert_eq!(head_after_doubt(false).await, 3 + 5 + 2);
    }
}
