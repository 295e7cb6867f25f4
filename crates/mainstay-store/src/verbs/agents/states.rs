use crate::Result;
use crate::agents::{AgentState, Headcount};
use crate::sql::{Conn, Readers, Row};
use crate::writer::Deed;

// Clocks of several replicas may differ; nobody is seen last before they were seen.
const SEEN: &str = "INSERT INTO agent_states (agent, last_seen, status) VALUES ($1, $2, 'active') \
     ON CONFLICT (agent) DO UPDATE SET last_seen = excluded.last_seen \
     WHERE agent_states.last_seen < excluded.last_seen";
const SET: &str = "UPDATE agent_states SET status = $2, current_task = $3 WHERE agent = $1";
const FIND: &str = "SELECT agent, last_seen, status, current_task, capabilities, metadata FROM agent_states \
     WHERE agent = $1";
const PAGE: &str = "SELECT agent, last_seen, status, current_task, capabilities, metadata FROM agent_states \
     WHERE agent > $1 ORDER BY agent LIMIT $2";

const COUNT: &str =
    "SELECT COUNT(*), COUNT(CASE WHEN status <> 'offline' AND last_seen >= $1 THEN 1 END) FROM agent_states";

/// Part of every deed an agent does.
pub(super) async fn seen(db: &mut Conn<'_>, agent: &String, now_ms: i64) -> Result<()> {
    db.run(SEEN, &[agent.into(), now_ms.into()]).await.map(drop)
}

pub(super) struct Heartbeat {
    pub(super) agent: String,
    pub(super) now_ms: i64,
}

impl Deed for Heartbeat {
    type Given = ();

    async fn run(&self, db: &mut Conn<'_>) -> Result<()> {
        seen(db, &self.agent, self.now_ms).await
    }
}

pub(super) struct SetState {
    pub(super) agent: String,
    pub(super) status: String,
    pub(super) current_task: Option<String>,
    pub(super) now_ms: i64,
}

impl Deed for SetState {
    type Given = ();

    async fn run(&self, db: &mut Conn<'_>) -> Result<()> {
        seen(db, &self.agent, self.now_ms).await?;
        let values = [(&self.agent).into(), (&self.status).into(), self.current_task.as_ref().into()];
        db.run(SET, &values).await.map(drop)
    }
}

pub(super) async fn find(readers: &Readers, agent: &str) -> Result<Option<AgentState>> {
    readers.row(FIND, &[agent.into()]).await?.as_ref().map(state).transpose()
}

pub(super) async fn page(readers: &Readers, after: &str, limit: u32) -> Result<Vec<AgentState>> {
    readers.rows(PAGE, &[after.into(), i64::from(limit).into()]).await?.iter().map(state).collect()
}

pub(super) async fn count(readers: &Readers, seen_since_ms: i64) -> Result<Headcount> {
    let row = readers.row(COUNT, &[seen_since_ms.into()]).await?.ok_or_else(super::lost)?;
    Ok(Headcount { known: row.int(0)?, active: row.int(1)? })
}

fn state(row: &Row) -> Result<AgentState> {
    Ok(AgentState {
        agent: row.text(0)?,
        last_seen_ms: row.int(1)?,
        status: row.text(2)?,
        current_task: row.maybe_text(3)?,
        capabilities: row.text(4)?,
        metadata: row.text(5)?,
    })
}
