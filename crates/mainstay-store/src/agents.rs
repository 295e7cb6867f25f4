//! What a team of agents tells each other: what each does, how it is, what it owns, what it asks and decides.

use std::collections::BTreeMap;

use mainstay_core::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::Result;

/// Whether a deed is done, or done and undone again to see what would come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Act,
    Rehearse,
}

/// `details`, like every `metadata` below, is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewActivity {
    pub agent: String,
    pub activity: String,
    pub category: String,
    pub status: Option<String>,
    pub details: Option<String>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    pub id: i64,
    pub agent: String,
    pub at_ms: i64,
    pub activity: String,
    pub category: String,
    pub status: Option<String>,
    pub details: Option<String>,
}

/// Those that fit everything that is given, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    pub agent: Option<String>,
    pub category: Option<String>,
    pub status: Option<String>,
    /// Only those with a higher number.
    pub after: Option<i64>,
    /// Only those with a lower number.
    pub before: Option<i64>,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentState {
    pub agent: String,
    pub last_seen_ms: i64,
    pub status: String,
    pub current_task: Option<String>,
    pub capabilities: String,
    pub metadata: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headcount {
    pub known: i64,
    pub active: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComponent {
    pub name: String,
    pub owner: String,
    pub status: String,
    /// Without it an owner's own component keeps what it has.
    pub metadata: Option<String>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    pub name: String,
    pub owner: String,
    pub status: String,
    pub updated_ms: i64,
    pub metadata: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    Registered,
    /// An active component is its owner's until the owner says otherwise; nothing was changed.
    OwnedBy(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentQuery {
    pub owner: Option<String>,
    pub status: Option<String>,
    /// Only those whose names come after this one.
    pub after: String,
    pub limit: u32,
}

/// What a conflict is about: equal disputes are the same conflict as long as it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    pub component: String,
    pub kind: String,
    pub severity: String,
    /// Sorted.
    pub agents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub id: i64,
    pub dispute: Dispute,
    pub resolved: bool,
    pub resolution: Option<String>,
    pub created_ms: i64,
    pub resolved_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCollaboration {
    pub from_agent: String,
    pub to_agent: String,
    pub task: String,
    pub priority: String,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collaboration {
    pub id: i64,
    pub from_agent: String,
    pub to_agent: String,
    pub task: String,
    pub priority: String,
    pub status: String,
    pub note: Option<String>,
    pub created_ms: i64,
    pub answered_ms: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollaborationQuery {
    pub from_agent: Option<String>,
    pub to_agent: Option<String>,
    pub status: Option<String>,
    pub before: Option<i64>,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProposal {
    pub category: String,
    pub question: String,
    pub proposed_by: String,
    pub metadata: Option<String>,
    pub now_ms: i64,
}

/// A decision, from its proposal on.
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
    pub votes: BTreeMap<String, Vote>,
    pub resolution: Option<String>,
    pub resolved_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    pub choice: String,
    pub note: Option<String>,
    pub at_ms: i64,
}

/// What came of changing something that is known by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed<T> {
    /// This is what it is now.
    Done(T),
    /// It is in no state for that, and stays what it is.
    Refused(T),
    NotFound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub nullable: bool,
}

/// Every deed of an agent also shows that it is there (`last_seen`).
pub trait Agents: Send + Sync {
    /// Gives the activity's number; numbers rise in the order in which calls are answered.
    fn log(&self, activity: NewActivity, intent: Intent) -> BoxFuture<'_, Result<i64>>;
    fn activities(&self, query: ActivityQuery) -> BoxFuture<'_, Result<Vec<Activity>>>;
    /// How many fit the query, whatever its limit.
    fn count_activities(&self, query: ActivityQuery) -> BoxFuture<'_, Result<i64>>;

    fn heartbeat(&self, agent: &str, now_ms: i64, intent: Intent) -> BoxFuture<'_, Result<()>>;
    /// Says both: without a task there is none.
    fn set_state(
        &self,
        agent: &str,
        status: &str,
        current_task: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<()>>;
    fn state(&self, agent: &str) -> BoxFuture<'_, Result<Option<AgentState>>>;
    /// How many there are, and how many of them are not offline and were seen since then.
    fn count_states(&self, seen_since_ms: i64) -> BoxFuture<'_, Result<Headcount>>;
    /// By name, those after `after`.
    fn states(&self, after: &str, limit: u32) -> BoxFuture<'_, Result<Vec<AgentState>>>;

    fn register(&self, component: NewComponent, intent: Intent) -> BoxFuture<'_, Result<Registration>>;
    /// Those of these names that there are.
    fn components_named(&self, names: Vec<String>) -> BoxFuture<'_, Result<Vec<Component>>>;
    fn components(&self, query: ComponentQuery) -> BoxFuture<'_, Result<Vec<Component>>>;

    /// Stores those that are not open already; says how many that were.
    fn add_conflicts(&self, found: Vec<Dispute>, now_ms: i64, intent: Intent) -> BoxFuture<'_, Result<u64>>;
    /// Newest first; with those that are resolved only if `all`.
    fn conflicts(&self, all: bool, before: Option<i64>, limit: u32) -> BoxFuture<'_, Result<Vec<Conflict>>>;
    fn resolve_conflict(
        &self,
        id: i64,
        resolution: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Conflict>>>;

    fn request(&self, collaboration: NewCollaboration, intent: Intent) -> BoxFuture<'_, Result<i64>>;
    fn collaborations(&self, query: CollaborationQuery) -> BoxFuture<'_, Result<Vec<Collaboration>>>;
    /// Refused unless `agent` is the one who was asked and has not declined or completed it.
    fn answer(
        &self,
        id: i64,
        agent: &str,
        status: &str,
        note: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Collaboration>>>;

    fn propose(&self, proposal: NewProposal, intent: Intent) -> BoxFuture<'_, Result<i64>>;
    /// Newest first.
    fn proposals(
        &self,
        status: Option<String>,
        before: Option<i64>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Proposal>>>;
    /// One vote for each agent, the last; refused once it is resolved, and beyond `most` voters.
    fn vote(
        &self,
        id: i64,
        agent: &str,
        vote: Vote,
        most: usize,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Proposal>>>;
    fn resolve_proposal(
        &self,
        id: i64,
        status: &str,
        resolution: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Proposal>>>;

    /// Removes everything above; says how much of each table.
    fn delete_all(&self, intent: Intent) -> BoxFuture<'_, Result<BTreeMap<String, u64>>>;

    /// The tables that hold this, as the database itself names them, sorted.
    fn tables(&self) -> BoxFuture<'_, Result<Vec<String>>>;
    /// A table's columns, as the database itself describes them; none if it is not one of those tables.
    fn columns(&self, table: &str) -> BoxFuture<'_, Result<Vec<Column>>>;
}
