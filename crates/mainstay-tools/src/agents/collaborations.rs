//! `agents_collaborations`: list collaboration requests. An agent polls it for the requests it has to answer.

use mainstay_store::{Collaboration, CollaborationQuery};

use super::prelude::*;

pub(crate) struct Collaborations(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only requests to this agent.
    to_agent: Option<String>,
    /// Only requests from this agent.
    from_agent: Option<String>,
    /// Only requests with this status.
    status: Option<CollaborationStatus>,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    collaborations: Vec<Entry>,
    /// cursor of the next page; null on the last page.
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
    /// Note of the agent that answered.
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
        title: "List Collaborations",
        description: "List collaboration requests, newest first, by sender, receiver or status. An agent finds the requests \
                      it has to answer with its own name as to_agent and status pending.",
        spellings: &[Spelling { dialect: "agents", name: "list_collaborations" }],
        ..spec("collaborations", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let query = CollaborationQuery {
            from_agent: args.from_agent,
            to_agent: args.to_agent,
            status: args.status.map(wire_name),
            before: args.page.before()?,
            limit: args.page.fetch_limit(),
        };
        let rows = self.0.agents().collaborations(query).await?;
        let size = |row: &Collaboration| row.task.len() + row.note.as_ref().map_or(0, String::len) + 600;
        let (rows, next_cursor) = args.page.cut(rows, size, |row| row.id.to_string());
        Ok(Output { collaborations: rows.into_iter().map(Entry::from).collect(), next_cursor })
    }
}
