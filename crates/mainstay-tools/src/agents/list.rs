//! `agents_list`: list the agents of the team.
//!
//! An agent exists from its first call on. Whether it is alive is computed from the time of its last one, never stored.

use mainstay_store::AgentState;

use super::prelude::*;

pub(crate) struct List(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Also return the number of all agents, and of the active ones.
    #[serde(default)]
    count: bool,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// By name.
    agents: Vec<Entry>,
    /// Number of agents on all pages, if count was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// How many of them are alive and not offline, if count was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<i64>,
    /// cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    agent: String,
    /// active, idle, busy or offline, as last set by the agent.
    status: String,
    current_task: Option<String>,
    /// Time of the agent's last call, in ISO-8601.
    last_seen: String,
    /// Whether that was within agents.heartbeat_seconds.
    alive: bool,
    capabilities: Value,
    metadata: Value,
}

impl Entry {
    fn new(state: AgentState, alive_since_ms: i64) -> Result<Self> {
        Ok(Self {
            alive: state.last_seen_ms >= alive_since_ms,
            last_seen: iso8601(state.last_seen_ms),
            capabilities: stored_json(&state.capabilities)?,
            metadata: stored_json(&state.metadata)?,
            agent: state.agent,
            status: state.status,
            current_task: state.current_task,
        })
    }
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List Agents",
        description: "List the agents of the team by name: status, current task, time of the last call, and whether the \
                      agent is alive or has missed its heartbeat.",
        spellings: &[Spelling { dialect: "agents", name: "list_agents" }],
        ..spec("list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let rows = self.0.agents().states(&names_after(&args.page)?, args.page.fetch_limit()).await?;
        // The JSON of a row: its task, and at most 400 bytes for the rest; capabilities and metadata are empty so far.
        let size = |row: &AgentState| row.current_task.as_ref().map_or(0, String::len) + 400;
        let (rows, next_cursor) = args.page.cut(rows, size, |row| row.agent.clone());
        let alive_since_ms = context.clock.now_ms() - i64::from(self.0.settings.heartbeat_seconds) * 1000;
        let agents = rows.into_iter().map(|state| Entry::new(state, alive_since_ms)).collect::<Result<_>>()?;
        let counts = if args.count { Some(self.0.agents().count_states(alive_since_ms).await?) } else { None };
        let (total, active) = counts.unzip();
        Ok(Output { agents, total, active, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn agents_are_listed_by_name_in_pages() {
        let team = Team::new().await;
        for agent in ["cid", "ann", "bob"] {
            team.call("heartbeat", json!({"agent": agent})).await.unwrap();
        }
        let first = team.call("agents_list", json!({"limit": 2})).await.unwrap();
        assert_eq!((&first["agents"][1]["agent"], &first["next_cursor"]), (&json!("bob"), &json!("bob")));
        let rest = team.call("agents_list", json!({"limit": 2, "cursor": "bob"})).await.unwrap();
        let expected = json!({"agents": [{"agent": "cid", "status": "active", "current_task": null, "alive": true,
            "last_seen": team.now(), "capabilities": [], "metadata": {}}], "next_cursor": null});
        assert_eq!(rest, expected);
    }

    #[tokio::test]
    async fn counts_cover_all_pages_and_active_means_alive_and_not_offline() {
        let team = Team::new().await;
        team.call("heartbeat", json!({"agent": "silent"})).await.unwrap();
        team.advance_seconds(91);
        for number in 0..200 {
            team.call("heartbeat", json!({"agent": format!("a{number}")})).await.unwrap();
        }
        team.call("update_status", json!({"agent": "gone", "status": "offline"})).await.unwrap();
        let counted = team.call("agents_list", json!({"limit": 50, "count": true})).await.unwrap();
        assert_eq!(counted["agents"].as_array().unwrap().len(), 50);
        assert_eq!((&counted["total"], &counted["active"]), (&json!(202), &json!(200)));
    }
}
