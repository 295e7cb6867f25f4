//! The state of each agent, and when it was last seen.

use super::{Agents, no_row};
use crate::sql::{Conn, from_columns, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentState {
    pub agent: String,
    pub last_seen_ms: i64,
    pub status: String,
    pub current_task: Option<String>,
    pub capabilities: String,
    pub metadata: String,
}

// The clocks of several replicas may differ; the time an agent was last seen never goes back.
const MARK_SEEN: &str = "INSERT INTO agent_states (agent, last_seen, status) VALUES ($1, $2, 'active') \
     ON CONFLICT (agent) DO UPDATE SET last_seen = excluded.last_seen \
     WHERE agent_states.last_seen < excluded.last_seen";
const SET: &str = "UPDATE agent_states SET status = $2, current_task = $3 WHERE agent = $1";
const FIND: &str = "SELECT agent, last_seen, status, current_task, capabilities, metadata FROM agent_states \
     WHERE agent = $1";
const LIST: &str = "SELECT agent, last_seen, status, current_task, capabilities, metadata FROM agent_states \
     WHERE agent > $1 ORDER BY agent LIMIT $2";
const COUNT: &str =
    "SELECT COUNT(*), COUNT(CASE WHEN status <> 'offline' AND last_seen >= $1 THEN 1 END) FROM agent_states";

/// Part of every change that an agent makes; a new agent begins as `active`.
pub(super) async fn mark_seen(db: &mut Conn<'_>, agent: &str, now_ms: i64) -> Result<()> {
    db.execute(MARK_SEEN, &params![agent, now_ms]).await.map(drop)
}

impl Agents<'_> {
    /// Updates when the agent was last seen, and nothing else.
    pub async fn heartbeat(self, agent: &str, now_ms: i64, mode: WriteMode) -> Result<()> {
        transaction!(self.0.writer, mode, (agent.to_owned(), now_ms), |db, (agent, now_ms)| {
            mark_seen(db, agent, *now_ms).await
        })
    }

    /// Sets both fields; `None` clears the task.
    pub async fn set_state(
        self,
        agent: &str,
        status: &str,
        current_task: Option<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<()> {
        let state = (agent.to_owned(), status.to_owned(), current_task, now_ms);
        transaction!(self.0.writer, mode, state, |db, (agent, status, current_task, now_ms)| {
            mark_seen(db, agent, *now_ms).await?;
            db.execute(SET, &params![agent, status, current_task]).await.map(drop)
        })
    }

    pub async fn state(self, agent: &str) -> Result<Option<AgentState>> {
        self.0.readers.one(FIND, &params![agent]).await
    }

    /// How many there are, and how many of them are not offline and were seen since then.
    pub async fn count_states(self, seen_since_ms: i64) -> Result<(i64, i64)> {
        self.0.readers.one(COUNT, &params![seen_since_ms]).await?.ok_or_else(no_row)
    }

    /// By name, those after `after`.
    pub async fn states(self, after: &str, limit: u32) -> Result<Vec<AgentState>> {
        self.0.readers.all(LIST, &params![after, limit]).await
    }
}

from_columns!(AgentState { agent, last_seen_ms, status, current_task, capabilities, metadata });
