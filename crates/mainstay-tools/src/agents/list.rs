//! `agents_list`: who is there.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::AgentState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Desk;
use super::types::dry_run::value;
use super::types::pagination;

pub(crate) struct List(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Also count all agents, and those that are active.
    #[serde(default)]
    count: bool,
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
    /// By name.
    agents: Vec<Entry>,
    /// How many there are altogether, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// How many of them are alive and not offline, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<i64>,
    /// Give it back as cursor for the next page; null on the last.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    agent: String,
    /// What it last said of itself: active, idle, busy or offline.
    status: String,
    current_task: Option<String>,
    /// When it was last heard of, in ISO-8601.
    last_seen: String,
    /// Whether it was heard of within agents.heartbeat_seconds.
    alive: bool,
    capabilities: Value,
    metadata: Value,
}

impl Entry {
    fn new(state: AgentState, alive: bool) -> Result<Self> {
        Ok(Self {
            alive,
            last_seen: iso8601(state.last_seen_ms),
            capabilities: value(&state.capabilities)?,
            metadata: value(&state.metadata)?,
            agent: state.agent,
            status: state.status,
            current_task: state.current_task,
        })
    }
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "Agents",
        description: "Lists the agents of the team by name: status, current task, when each was last heard of, and \
                      whether it is still alive or has missed its heartbeat.",
        pace: Pace::Instant,
        tags: &["agents"],
        ..Spec::new("agents", "list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let rows = self.0.agents().states(&pagination::after(args.cursor)?, pagination::fetched(args.limit)).await?;
        let size = |row: &AgentState| row.current_task.as_ref().map_or(0, String::len) + 400;
        let (rows, next_cursor) = pagination::cut(rows, args.limit, size, |row| row.agent.clone());
        let heard_since = context.clock.now_ms() - i64::from(self.0.settings.heartbeat_seconds) * 1000;
        let entry = |state: AgentState| {
            let alive = state.last_seen_ms >= heard_since;
            Entry::new(state, alive)
        };
        let agents = rows.into_iter().map(entry).collect::<Result<_>>()?;
        let (total, active) = if args.count {
            Some(self.0.agents().count_states(heard_since).await?).map(|all| (all.known, all.active)).unzip()
        } else {
            (None, None)
        };
        Ok(Output { agents, total, active, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
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
    async fn all_are_counted_whatever_is_shown_and_the_active_ones_are_alive_and_not_offline() {
        let team = Team::new().await;
        team.call("heartbeat", json!({"agent": "silent"})).await.unwrap();
        team.wait_seconds(91);
        for number in 0..200 {
            team.call("heartbeat", json!({"agent": format!("a{number}")})).await.unwrap();
        }
        team.call("update_status", json!({"agent": "gone", "status": "offline"})).await.unwrap();
        let counted = team.call("agents_list", json!({"limit": 50, "count": true})).await.unwrap();
        assert_eq!(counted["agents"].as_array().unwrap().len(), 50);
        assert_eq!((&counted["total"], &counted["active"]), (&json!(202), &json!(200)));
    }
}
