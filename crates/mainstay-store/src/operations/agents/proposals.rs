//! Decisions of the team, from the proposal to the resolution.
//!
//! Votes are a JSON object in the proposal's row: they are read and written together with it, and the number of voters
//! is limited.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Agents, ChangeOutcome, below, change_row, no_row, states};
use crate::sql::{Row, Select, params};
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

/// The columns of a decision, in the order [`read_proposal`] reads them.
macro_rules! select_decision {
    ($rest:literal) => {
        concat!(
            "SELECT id, category, question, proposed_by, status, timestamp, metadata, votes, resolution, resolved_at \
             FROM decisions WHERE ",
            $rest
        )
    };
}

const FIND: &str = select_decision!("id = $1");
const INSERT: &str = "INSERT INTO decisions (category, question, proposed_by, timestamp, metadata) \
     VALUES ($1, $2, $3, $4, COALESCE($5, '{}')) RETURNING id";
const SET_VOTES: &str = "UPDATE decisions SET votes = $2 WHERE id = $1";
const RESOLVE: &str = "UPDATE decisions SET status = $2, resolution = $3, resolved_at = $4 \
     WHERE id = $1 AND status = 'open'";

impl Agents<'_> {
    /// Resolves with the proposal's number.
    pub async fn propose(self, proposal: NewProposal, mode: WriteMode) -> Result<i64> {
        let transaction = self.0.writer.transaction_in(mode, proposal, |db, new| {
            Box::pin(async move {
                let NewProposal { category, question, proposed_by, metadata, now_ms } = new;
                states::mark_seen(db, proposed_by, *now_ms).await?;
                let values = params![category, question, proposed_by, now_ms, metadata];
                db.one(INSERT, &values, |row| row.get(0)).await
            })
        });
        transaction.await?.ok_or_else(no_row)
    }

    /// Newest first.
    pub async fn proposals(self, status: Option<String>, before: Option<i64>, limit: u32) -> Result<Vec<Proposal>> {
        let select = Select::new(select_decision!("id < $1"), params![below(before)])
            .filter("status", status.as_deref())
            .then(" ORDER BY id DESC")
            .limit(limit);
        select.all(&self.0.readers, read_proposal).await
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
        let transaction = self.0.writer.transaction_in(mode, vote, |db, (id, agent, vote, most)| {
            Box::pin(async move {
                let Some(mut found) = db.one(FIND, &params![id], read_proposal).await? else {
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
        });
        transaction.await
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
        let transaction = self.0.writer.transaction_in(mode, resolution, |db, (id, status, resolution, now_ms)| {
            Box::pin(async move {
                change_row(db, *id, (FIND, read_proposal), (RESOLVE, &params![id, status, resolution, now_ms])).await
            })
        });
        transaction.await
    }
}

fn read_proposal(row: &Row) -> Result<Proposal> {
    Ok(Proposal {
        id: row.get(0)?,
        category: row.get(1)?,
        question: row.get(2)?,
        proposed_by: row.get(3)?,
        status: row.get(4)?,
        at_ms: row.get(5)?,
        metadata: row.get(6)?,
        votes: serde_json::from_str(&row.get::<String>(7)?).map_err(StoreError::failed)?,
        resolution: row.get(8)?,
        resolved_ms: row.get(9)?,
    })
}
