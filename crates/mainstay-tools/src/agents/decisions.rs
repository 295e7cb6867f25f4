//! `agents_decisions`: list decisions and their votes.
//!
//! Votes are returned with their decision: up to 1,000 of them, which the size limit of a page takes into account.

use std::collections::BTreeMap;

use mainstay_store::{Proposal, Vote};

use super::prelude::*;

pub(crate) struct Decisions(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only decisions with this status.
    status: Option<DecisionStatus>,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    decisions: Vec<Entry>,
    /// cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    id: i64,
    category: String,
    question: String,
    proposed_by: String,
    /// open, accepted, rejected or withdrawn.
    status: String,
    /// In ISO-8601.
    timestamp: String,
    metadata: Value,
    /// By agent.
    votes: BTreeMap<String, VoteEntry>,
    /// Number of votes for each choice.
    tally: BTreeMap<String, usize>,
    resolution: Option<String>,
    resolved_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VoteEntry {
    choice: String,
    note: Option<String>,
    /// In ISO-8601.
    at: String,
}

impl From<Vote> for VoteEntry {
    fn from(vote: Vote) -> Self {
        Self { choice: vote.choice, note: vote.note, at: iso8601(vote.at_ms) }
    }
}

impl Entry {
    pub(super) fn new(row: Proposal) -> Result<Self> {
        let mut tally = BTreeMap::new();
        for vote in row.votes.values() {
            *tally.entry(vote.choice.clone()).or_default() += 1;
        }
        Ok(Self {
            id: row.id,
            category: row.category,
            question: row.question,
            proposed_by: row.proposed_by,
            status: row.status,
            timestamp: iso8601(row.at_ms),
            metadata: stored_json(&row.metadata)?,
            votes: row.votes.into_iter().map(|(agent, vote)| (agent, vote.into())).collect(),
            tally,
            resolution: row.resolution,
            resolved_at: row.resolved_ms.map(iso8601),
        })
    }
}

impl Tool for Decisions {
    const SPEC: Spec = Spec {
        title: "List Decisions",
        description: "List proposed decisions, newest first, with every agent's vote and the number of votes for each \
                      choice; status open lists those that can still be voted on.",
        spellings: &[Spelling { dialect: "agents", name: "list_decisions" }],
        ..spec("decisions", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let (status, before) = (args.status.map(wire_name), args.page.before()?);
        let rows = self.0.agents().proposals(status, before, args.page.fetch_limit()).await?;
        let (rows, next_cursor) = args.page.cut(rows, size, |row| row.id.to_string());
        let decisions = rows.into_iter().map(Entry::new).collect::<Result<_>>()?;
        Ok(Output { decisions, next_cursor })
    }
}

/// Votes count: a page of decisions with 1,000 votes each ends early.
fn size(row: &Proposal) -> usize {
    let vote = |(agent, vote): (&String, &Vote)| {
        agent.len() + vote.choice.len() + vote.note.as_ref().map_or(0, String::len) + 100
    };
    row.question.len() + row.metadata.len() + row.votes.iter().map(vote).sum::<usize>() + 600
}
