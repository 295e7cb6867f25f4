//! Requests of one agent to another: pending, then accepted or declined, and an accepted one completed in the end.

use super::{Agents, ChangeOutcome, below, change_row, no_row, states};
use crate::sql::{Select, from_columns, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCollaboration {
    pub from_agent: String,
    pub to_agent: String,
    pub task: String,
    pub priority: String,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collaboration {
    pub id: i64,
    pub from_agent: String,
    pub to_agent: String,
    pub task: String,
    pub priority: String,
    pub status: String,
    pub note: Option<String>,
    pub created_ms: i64,
    pub answered_ms: Option<i64>,
}

/// Requests that match every filter that is set, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollaborationQuery {
    pub from_agent: Option<String>,
    pub to_agent: Option<String>,
    pub status: Option<String>,
    /// Only those with a lower number.
    pub before: Option<i64>,
    pub limit: u32,
}

const FIND: &str = "SELECT id, from_agent, to_agent, task, priority, status, note, created_at, answered_at \
     FROM collaborations WHERE id = $1";
const LIST: &str = "SELECT id, from_agent, to_agent, task, priority, status, note, created_at, answered_at \
     FROM collaborations WHERE id < $1";
const INSERT: &str = "INSERT INTO collaborations (from_agent, to_agent, task, priority, created_at) \
     VALUES ($1, $2, $3, $4, $5) RETURNING id";
// `status <> $3` makes the same answer twice a rejection, so that a caller learns that nothing was changed.
const ANSWER: &str = "UPDATE collaborations SET status = $3, note = COALESCE($4, note), answered_at = $5 \
     WHERE id = $1 AND to_agent = $2 AND status IN ('pending', 'accepted') AND status <> $3";

impl Agents<'_> {
    /// Resolves with the request's number.
    pub async fn request(self, collaboration: NewCollaboration, mode: WriteMode) -> Result<i64> {
        let outcome = transaction!(self.0.writer, mode, collaboration, |db, new| {
            let NewCollaboration { from_agent, to_agent, task, priority, now_ms } = new;
            states::mark_seen(db, from_agent, *now_ms).await?;
            let values = params![from_agent, to_agent, task, priority, now_ms];
            db.one(INSERT, &values).await
        })?;
        outcome.ok_or_else(no_row)
    }

    pub async fn collaborations(self, query: CollaborationQuery) -> Result<Vec<Collaboration>> {
        let select = Select::new(LIST, params![below(query.before)])
            .filter("from_agent", query.from_agent.as_deref())
            .filter("to_agent", query.to_agent.as_deref())
            .filter("status", query.status.as_deref())
            .then(" ORDER BY id DESC")
            .limit(query.limit);
        select.all(&self.0.readers).await
    }

    /// Rejected unless `agent` is the one who was asked and has not declined or completed it.
    pub async fn answer(
        self,
        id: i64,
        agent: &str,
        status: &str,
        note: Option<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<ChangeOutcome<Collaboration>> {
        let answer = (id, agent.to_owned(), status.to_owned(), note, now_ms);
        transaction!(self.0.writer, mode, answer, |db, (id, agent, status, note, now_ms)| {
            let values = params![id, agent, status, note, now_ms];
            let outcome = change_row(db, *id, FIND, (ANSWER, &values)).await?;
            if matches!(outcome, ChangeOutcome::Done(_)) {
                states::mark_seen(db, agent, *now_ms).await?;
            }
            Ok(outcome)
        })
    }
}

from_columns!(Collaboration { id, from_agent, to_agent, task, priority, status, note, created_ms, answered_ms });
