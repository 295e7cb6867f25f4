//! `agents_collaborations`: who asks whom for what.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::{Collaboration, CollaborationQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::enums::{Request, stored};
use super::types::pagination;

pub(crate) struct Collaborations(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only what this agent is asked.
    #[serde(default)]
    to_agent: Option<String>,
    /// Only what this agent asks.
    #[serde(default)]
    from_agent: Option<String>,
    /// Only those that stand so.
    #[serde(default)]
    status: Option<Request>,
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
    collaborations: Vec<Entry>,
    /// Give it back as cursor for the next page; null on the last.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    id: i64,
    from_agent: String,
    to_agent: String,
    task: String,
    priority: String,
    /// pending, accepted, declined or completed.
    status: String,
    /// What the one who was asked said.
    note: Option<String>,
    /// In ISO-8601.
    created_at: String,
    answered_at: Option<String>,
}

impl From<Collaboration> for Entry {
    fn from(row: Collaboration) -> Self {
        let Collaboration { id, from_agent, to_agent, task, priority, status, note, created_ms, answered_ms } = row;
        let (created_at, answered_at) = (iso8601(created_ms), answered_ms.map(iso8601));
        Self { id, from_agent, to_agent, task, priority, status, note, created_at, answered_at }
    }
}

impl Tool for Collaborations {
    const SPEC: Spec = Spec {
        title: "Collaborations",
        description: "Lists requests for collaboration, newest first: to an agent, from an agent, or in a state. An \
                      agent finds what it is asked with its own name as to_agent and status pending.",
        pace: Pace::Instant,
        tags: &["agents"],
        ..Spec::new("agents", "collaborations", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let query = CollaborationQuery {
            from_agent: args.from_agent,
            to_agent: args.to_agent,
            status: args.status.map(stored),
            before: pagination::before(args.cursor.as_deref())?,
            limit: pagination::fetched(args.limit),
        };
        let rows = self.0.agents().collaborations(query).await?;
        let size = |row: &Collaboration| row.task.len() + row.note.as_ref().map_or(0, String::len) + 600;
        let (rows, next_cursor) = pagination::cut(rows, args.limit, size, |row| row.id.to_string());
        Ok(Output { collaborations: rows.into_iter().map(Entry::from).collect(), next_cursor })
    }
}
