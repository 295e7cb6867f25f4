//! The verbs of a team of agents, a file for each table.

mod activities;
mod collaborations;
mod components;
mod conflicts;
mod everything;
mod proposals;
mod states;

use std::collections::BTreeMap;

use mainstay_core::BoxFuture;

use crate::agents::{
    Activity, ActivityQuery, AgentState, Agents, Changed, Collaboration, CollaborationQuery, Column, Component,
    ComponentQuery, Conflict, Dispute, Headcount, Intent, NewActivity, NewCollaboration, NewComponent, NewProposal,
    Proposal, Registration, Vote,
};
use crate::store::Inner;
use crate::writer::{Deed, Rehearsed};
use crate::{Result, StoreError};

impl Inner {
    async fn attempt<D: Deed>(&self, deed: D, intent: Intent) -> Result<D::Given> {
        match intent {
            Intent::Act => self.writer.perform(deed).await,
            Intent::Rehearse => self.writer.perform(Rehearsed(deed)).await,
        }
    }
}

/// A statement that must give a row gave none.
fn lost() -> StoreError {
    StoreError::failed("a row that was written is not there")
}

/// Where a list that goes down begins.
fn below(before: Option<i64>) -> i64 {
    before.unwrap_or(i64::MAX)
}

impl Agents for Inner {
    fn log(&self, activity: NewActivity, intent: Intent) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.attempt(activity, intent))
    }

    fn activities(&self, query: ActivityQuery) -> BoxFuture<'_, Result<Vec<Activity>>> {
        Box::pin(async move { activities::find(&self.readers, &query).await })
    }

    fn count_activities(&self, query: ActivityQuery) -> BoxFuture<'_, Result<i64>> {
        Box::pin(async move { activities::count(&self.readers, &query).await })
    }

    fn heartbeat(&self, agent: &str, now_ms: i64, intent: Intent) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.attempt(states::Heartbeat { agent: agent.to_owned(), now_ms }, intent))
    }

    fn set_state(
        &self,
        agent: &str,
        status: &str,
        current_task: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<()>> {
        let (agent, status) = (agent.to_owned(), status.to_owned());
        Box::pin(self.attempt(states::SetState { agent, status, current_task, now_ms }, intent))
    }

    fn state(&self, agent: &str) -> BoxFuture<'_, Result<Option<AgentState>>> {
        let agent = agent.to_owned();
        Box::pin(async move { states::find(&self.readers, &agent).await })
    }

    fn count_states(&self, seen_since_ms: i64) -> BoxFuture<'_, Result<Headcount>> {
        Box::pin(states::count(&self.readers, seen_since_ms))
    }

    fn states(&self, after: &str, limit: u32) -> BoxFuture<'_, Result<Vec<AgentState>>> {
        let after = after.to_owned();
        Box::pin(async move { states::page(&self.readers, &after, limit).await })
    }

    fn register(&self, component: NewComponent, intent: Intent) -> BoxFuture<'_, Result<Registration>> {
        Box::pin(self.attempt(component, intent))
    }

    fn components_named(&self, names: Vec<String>) -> BoxFuture<'_, Result<Vec<Component>>> {
        Box::pin(async move { components::named(&self.readers, &names).await })
    }

    fn components(&self, query: ComponentQuery) -> BoxFuture<'_, Result<Vec<Component>>> {
        Box::pin(async move { components::find(&self.readers, &query).await })
    }

    fn add_conflicts(&self, found: Vec<Dispute>, now_ms: i64, intent: Intent) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.attempt(conflicts::Add { found, now_ms }, intent))
    }

    fn conflicts(&self, all: bool, before: Option<i64>, limit: u32) -> BoxFuture<'_, Result<Vec<Conflict>>> {
        Box::pin(async move { conflicts::page(&self.readers, all, before, limit).await })
    }

    fn resolve_conflict(
        &self,
        id: i64,
        resolution: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Conflict>>> {
        Box::pin(self.attempt(conflicts::Resolve { id, resolution, now_ms }, intent))
    }

    fn request(&self, collaboration: NewCollaboration, intent: Intent) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.attempt(collaboration, intent))
    }

    fn collaborations(&self, query: CollaborationQuery) -> BoxFuture<'_, Result<Vec<Collaboration>>> {
        Box::pin(async move { collaborations::find(&self.readers, &query).await })
    }

    fn answer(
        &self,
        id: i64,
        agent: &str,
        status: &str,
        note: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Collaboration>>> {
        let (agent, status) = (agent.to_owned(), status.to_owned());
        Box::pin(self.attempt(collaborations::Answer { id, agent, status, note, now_ms }, intent))
    }

    fn propose(&self, proposal: NewProposal, intent: Intent) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.attempt(proposal, intent))
    }

    fn proposals(
        &self,
        status: Option<String>,
        before: Option<i64>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Proposal>>> {
        Box::pin(async move { proposals::page(&self.readers, status.as_ref(), before, limit).await })
    }

    fn vote(
        &self,
        id: i64,
        agent: &str,
        vote: Vote,
        most: usize,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Proposal>>> {
        Box::pin(self.attempt(proposals::Cast { id, agent: agent.to_owned(), vote, most }, intent))
    }

    fn resolve_proposal(
        &self,
        id: i64,
        status: &str,
        resolution: Option<String>,
        now_ms: i64,
        intent: Intent,
    ) -> BoxFuture<'_, Result<Changed<Proposal>>> {
        let status = status.to_owned();
        Box::pin(self.attempt(proposals::Resolve { id, status, resolution, now_ms }, intent))
    }

    fn delete_all(&self, intent: Intent) -> BoxFuture<'_, Result<BTreeMap<String, u64>>> {
        Box::pin(self.attempt(everything::DeleteAll, intent))
    }

    fn tables(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(everything::tables(&self.readers))
    }

    fn columns(&self, table: &str) -> BoxFuture<'_, Result<Vec<Column>>> {
        let table = table.to_owned();
        Box::pin(async move { everything::columns(&self.readers, &table).await })
    }
}
