//! Decisions of the team, from the proposal to the resolution.
//!
//! Votes are a JSON object in the proposal's row: they are read and written together with it, and the number of voters
//! is limited.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Agents, ChangeOutcome, below, change_row, no_row, states};
use crate::sql::{Select, from_columns, params, read_json};
use crate::writer::transaction;
use crate::{Result, StoreError, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProposal {
    pub category: String,
    pub question: String,
    pub proposed_by: String,
    pub metadata: Option<String>,
    pub now_ms: i64,
}

/// A proposal with its votes, open or resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub id: i64,
    pub category: String,
    pub question: String,
    pub proposed_by: String,
    /// `open` until it is resolved.
    pub status: String,
    pub at_ms: i64,
    pub metadata: String,
    /// By agent.
    pub votes: BTreeMap<String, Vote>,
    pub resolution: Option<String>,
    pub resolved_ms: Option<i64>,
}

/// Stored as JSON in the proposal's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    pub choice: String,
    pub note: Option<String>,
    pub at_ms: i64,
}

const FIND: &str = "SELECT id, category, question, proposed_by, status, timestamp, metadata, votes, resolution, \
     resolved_at FROM decisions WHERE id = $1";
const LIST: &str = "SELECT id, category, question, proposed_by, status, timestamp, metadata, votes, resolution, \
     resolved_at FROM decisions WHERE id < $1";
const INSERT: &str = "INSERT INTO decisions (category, question, proposed_by, timestamp, metadata) \
     VALUES ($1, $2, $3, $4, COALESCE($5, '{}')) RETURNING id";
const SET_VOTES: &str = "UPDATE decisions SET votes = $2 WHERE id = $1";
const RESOLVE: &str = "UPDATE decisions SET status = $2, resolution = $3, resolved_at = $4 \
     WHERE id = $1 AND status = 'open'";

impl Agents<'_> {
    /// Resolves with the proposal's number.
    pub async fn propose(self, proposal: NewProposal, mode: WriteMode) -> Result<i64> {
        let outcome = transaction!(self.0.writer, mode, proposal, |db, new| {
            let NewProposal { category, question, proposed_by, metadata, now_ms } = new;
            states::mark_seen(db, proposed_by, *now_ms).await?;
            let values = params![category, question, proposed_by, now_ms, metadata];
            db.one(INSERT, &values).await
        })?;
        outcome.ok_or_else(no_row)
    }

    /// Newest first.
    pub async fn proposals(self, status: Option<String>, before: Option<i64>, limit: u32) -> Result<Vec<Proposal>> {
        let select = Select::new(LIST, params![below(before)])
            .filter("status", status.as_deref())
            .then(" ORDER BY id DESC")
            .limit(limit);
        select.all(&self.0.readers).await
    }

    /// One vote for each agent, the last; rejected once the proposal is resolved, and beyond `most` voters.
    pub async fn vote(
        self,
        id: i64,
        agent: &str,
        vote: Vote,
        most: usize,
        mode: WriteMode,
    ) -> Result<ChangeOutcome<Proposal>> {
        let vote = (id, agent.to_owned(), vote, most);
        transaction!(self.0.writer, mode, vote, |db, (id, agent, vote, most)| {
            let Some(mut found) = db.one::<Proposal>(FIND, &params![id]).await? else {
                return Ok(ChangeOutcome::NotFound);
            };
            let room = found.votes.len() < *most || found.votes.contains_key(agent);
            if found.status != "open" || !room {
                return Ok(ChangeOutcome::Rejected(found));
            }
            found.votes.insert(agent.clone(), vote.clone());
            let votes = serde_json::to_string(&found.votes).map_err(StoreError::failed)?;
            db.execute(SET_VOTES, &params![id, votes]).await?;
            states::mark_seen(db, agent, vote.at_ms).await?;
            Ok(ChangeOutcome::Done(found))
        })
    }

    /// Rejected if it is resolved already.
    pub async fn resolve_proposal(
        self,
        id: i64,
        status: &str,
        resolution: Option<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<ChangeOutcome<Proposal>> {
        let resolution = (id, status.to_owned(), resolution, now_ms);
        transaction!(self.0.writer, mode, resolution, |db, (id, status, resolution, now_ms)| {
            change_row(db, *id, FIND, (RESOLVE, &params![id, status, resolution, now_ms])).await
        })
    }
}

from_columns!(Proposal {
    id,
    category,
    question,
    proposed_by,
    status,
    at_ms,
    metadata,
    votes: read_json,
    resolution,
    resolved_ms
});
