//! The writer's own task: take a batch, commit it, answer the callers.
//!
//! Rows that nobody waits for must not be lost to a database that fails for a while: they stay in a backlog, which is
//! tried again with the next group and given up after [`StoreOptions::retry_rows_for`].

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::commit::{Committer, Group, GroupError, OnFailure};
use super::queue::{Batch, Shared};
use crate::audit::{EncodedRows, Tip};
use crate::sql::{Connector, Readers, WriteConnection};
use crate::{Result, StoreError, StoreOptions};

/// How soon a failing writer tries again when nothing new arrives.
const RETRY: Duration = Duration::from_millis(250);

/// How long closing waits for readers that are still busy.
const CLOSE_READERS: Duration = Duration::from_secs(5);

pub(super) struct Task {
    committer: Committer,
    readers: Readers,
    shared: Arc<Shared>,
    retry_rows_for: Duration,
    /// Rows without a waiting caller that could not be written.
    backlog: EncodedRows,
    failing_since: Option<Instant>,
    /// A commit that failed and may be on disk all the same: its last row, and how many rows it has of the backlog.
    uncertain: Option<(Tip, usize)>,
}

/// Answers those who wait for the end if the task is dropped before it, as with its runtime.
struct EndOnDrop(Arc<Shared>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Err(StoreError::Closed));
    }
}

pub(super) async fn run(mut task: Task) {
    let guard = EndOnDrop(task.shared.clone());
    while let Some(batch) = task.next().await {
        task.shared.in_progress.store(batch.len() + task.backlog.len(), Relaxed);
        task.write(batch).await;
        task.shared.in_progress.store(task.backlog.len(), Relaxed);
    }
    let outcome = task.finish().await;
    guard.0.end(outcome);
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
            retry_rows_for: options.retry_rows_for,
            backlog: EncodedRows::default(),
            failing_since: None,
            uncertain: None,
        }
    }

    /// What is to be written next; an empty batch is a retry. `None` ends the writer.
    async fn next(&self) -> Option<Batch> {
        let batch = self.shared.queue.take();
        if self.failing_since.is_none() {
            return batch.await;
        }
        timeout(RETRY, batch).await.unwrap_or_else(|_| Some(Batch::default()))
    }

    /// Commits a batch together with the backlog, and answers its callers.
    async fn write(&mut self, batch: Batch) {
        let settled = self.settle_uncertain().await;
        let mut group = Group::new(std::mem::take(&mut self.backlog), batch);
        if let Err(error) = settled {
            return self.failed(group, &GroupError::Whole(error));
        }
        let mut outcome = self.committer.commit_all(&mut group).await;
        if let Err(GroupError::Part(error)) = &outcome {
            if !group.has_parts() && group.rows.is_empty() {
                // The only operation of the group failed, which is no sign that the next one would.
                group.settle_jobs(&Err(error.clone()));
                return group.succeed(0);
            }
            if group.has_parts() {
                tracing::debug!(%error, "a write failed; the others of its group are repeated without it");
                outcome = self.committer.commit(&mut group, OnFailure::Skip).await;
            }
        }
        // Before a caller is answered, because it may read the number next.
        self.shared.in_progress.store(0, Relaxed);
        match outcome {
            Ok(committed) => match committed.rows {
                Ok(()) => self.succeeded(group, committed.tip),
                Err(error) => {
                    group.settle_jobs(&Ok(()));
                    self.failed(group, &GroupError::Part(error));
                }
            },
            Err(error) => self.failed(group, &error),
        }
    }

    fn succeeded(&mut self, group: Group, tip: Tip) {
        if self.failing_since.take().is_some() {
            tracing::info!("the store can write again");
            self.shared.set_healthy();
        }
        group.succeed(tip.seq);
    }

    /// Answers the callers with the error, and keeps the rows without one for the next attempt.
    fn failed(&mut self, group: Group, failure: &GroupError) {
        let error = failure.error();
        self.shared.set_failing(error);
        self.backlog = group.fail(error);
        if let GroupError::Commit(_, tip) = failure
            && !self.backlog.is_empty()
        {
            self.uncertain = Some((*tip, self.backlog.len()));
        }
        if self.failing_since.is_none() {
            tracing::error!(%error, "the store cannot write; it goes on trying");
        }
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.retry_rows_for {
            self.give_up_backlog();
        }
    }

    /// Rows that turn out to be on disk are not written a second time.
    async fn settle_uncertain(&mut self) -> Result<()> {
        let Some((tip, rows)) = self.uncertain else { return Ok(()) };
        if self.committer.contains(tip).await? {
            self.backlog.skip(rows);
        }
        self.uncertain = None;
        Ok(())
    }

    fn give_up_backlog(&mut self) {
        if self.backlog.is_empty() {
            return;
        }
        tracing::error!(rows = self.backlog.len(), "audit rows are lost: they could not be written for too long");
        self.shared.lost.fetch_add(self.backlog.len() as u64, Relaxed);
        self.backlog = EncodedRows::default();
        self.uncertain = None;
    }

    /// One last attempt at the backlog, then closes the database.
    async fn finish(mut self) -> Result<()> {
        if !self.backlog.is_empty() {
            self.write(Batch::default()).await;
        }
        let lost = self.backlog.len();
        self.give_up_backlog();
        // SQLite can move its write-ahead log into the database only when nobody reads from it.
        let _ = timeout(CLOSE_READERS, self.readers.close()).await;
        self.committer.close().await?;
        match lost {
            0 => Ok(()),
            rows => Err(StoreError::failed(format!("{rows} queued audit rows could not be written before closing"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Location;
    use crate::{AuditEntry, Phase, audit, migrate};

    fn rows(count: i64) -> EncodedRows {
        let mut rows = EncodedRows::default();
        for number in 0..count {
            rows.push(&AuditEntry {
                at_ms: number,
                phase: Phase::Ended,
                request_id: "".into(),
                principal: "ann".into(),
                session: None,
                ip: None,
                target: "".into(),
                effect: "".into(),
                args_digest: String::new(),
                outcome: "".into(),
                duration_us: 0,
            })
            .unwrap();
        }
        rows
    }

    fn batch(count: i64) -> Batch {
        Batch { rows: rows(count), items: Vec::new() }
    }

    /// The head after a writer has tried to write five queued rows, and was told that the commit failed.
    async fn head_after_uncertain_commit(committed: bool) -> i64 {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("store.db"));
        let options = StoreOptions::default();
        let connector = Connector::new(&location, &options).unwrap();
        let mut connection = connector.connect().await.unwrap();
        migrate::migrate(&mut connection).await.unwrap();
        let readers = Readers::new(&location, &options);
        let mut task = Task::new(connector, connection, readers.clone(), Arc::new(Shared::new(&options)), &options);

        task.write(batch(3)).await;
        if committed {
            task.write(batch(5)).await;
        }
        let head = readers.one("SELECT seq, hash FROM audit_head", &[]).await.unwrap();
        let head = audit::check_head(head).unwrap();
        let tip = if committed { head } else { Tip { seq: head.seq + 5, ..head } };
        task.backlog = rows(5);
        task.uncertain = Some((tip, 5));
        task.write(batch(2)).await;
        assert!(task.backlog.is_empty() && task.uncertain.is_none());
        audit::verify(&readers, None, None).await.unwrap().head.seq
    }

    #[tokio::test]
    async fn rows_whose_commit_happened_after_all_are_not_written_twice() {
        assert_eq!(head_after_uncertain_commit(true).await, 3 + 5 + 2);
    }

    #[tokio::test]
    async fn rows_whose_commit_did_not_happen_are_written_again() {
        assert_eq!(head_after_uncertain_commit(false).await, 3 + 5 + 2);
    }
}
