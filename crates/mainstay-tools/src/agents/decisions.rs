//! `agents_decisions`: what the team decides, and how it votes.

use std::collections::BTreeMap;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::{Proposal, Vote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Desk;
use super::types::dry_run::value;
use super::types::enums::{Outcome, stored};
use super::types::pagination;

pub(crate) struct Decisions(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only those that stand so.
    #[serde(default)]
    status: Option<Outcome>,
    /// How many at most.
    #[serde(default = "pagination::usual")]
    #[schemars(range(min = 1, max = pagination::MOST))]
    limit: u32,
    /// Where the last page ended.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    decisions: Vec<Entry>,
    /// Give it back as cursor for the next page; null on the last.
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
    votes: BTreeMap<String, Cast>,
    /// How many votes each choice has.
    tally: BTreeMap<String, usize>,
    resolution: Option<String>,
    resolved_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cast {
    choice: String,
    note: Option<String>,
    /// In ISO-8601.
    at: String,
}

impl From<Vote> for Cast {
    fn from(vote: Vote) -> Self {
        Self { choice: vote.choice, note: vote.note, at: iso8601(vote.at_ms) }
    }
}

impl TryFrom<Proposal> for Entry {
    type Error = mainstay_core::Error;

    fn try_from(row: Proposal) -> Result<Self> {
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
            metadata: value(&row.metadata)?,
            votes: row.votes.into_iter().map(|(agent, vote)| (agent, vote.into())).collect(),
            tally,
            resolution: row.resolution,
            resolved_at: row.resolved_ms.map(iso8601),
        })
    }
}

impl Tool for Decisions {
    const SPEC: Spec = Spec {
        title: "Decisions",
        description: "Lists what was proposed for decision, newest first, with every agent's vote and how many each \
                      choice has; status open shows what can still be voted on.",
        pace: Pace::Instant,
        tags: &["agents"],
        ..Spec::new("agents", "decisions", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let before = pagination::before(args.cursor.as_deref())?;
        let rows = self.0.agents().proposals(args.status.map(stored), before, pagination::fetched(args.limit)).await?;
        let (rows, next_cursor) = pagination::cut(rows, args.limit, size, |row| row.id.to_string());
        let decisions = rows.into_iter().map(Entry::try_from).collect::<Result<_>>()?;
        Ok(Output { decisions, next_cursor })
    }
}

fn size(row: &Proposal) -> usize {
    let vote = |(agent, vote): (&String, &Vote)| {
        agent.len() + vote.choice.len() + vote.note.as_ref().map_or(0, String::len) + 100
    };
    row.question.len() + row.metadata.len() + row.votes.iter().map(vote).sum::<usize>() + 600
}
