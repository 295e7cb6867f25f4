//! Coordination of a team of agents: activities, status, component ownership, conflicts, requests and decisions.
//!
//! Eight tools, four resources and three prompts are published as contract 001. The other tools read back, answer and
//! resolve what those eight have stored. Everything is kept in the store; this family holds no state but a cached count.
//!
//! Every tool is one file of this folder. `prelude.rs` is what each of them imports, `types/` holds the argument
//! and reply types that several of them share, `conflict_detection.rs` finds agents that work on the same thing.

mod activities;
mod answer_collaboration;
mod check_conflicts;
mod collaborations;
mod components;
mod conflict_detection;
mod conflicts;
mod decisions;
mod delete_all_data;
mod find_component_owner;
mod heartbeat;
mod list;
mod log_activity;
mod prelude;
mod prompts;
mod propose_decision;
mod register_component;
mod request_collaboration;
mod resolve_conflict;
mod resolve_decision;
mod resources;
#[cfg(test)]
pub(crate) mod testing;
mod types;
mod update_status;
mod vote;

use mainstay_core::{Effect, Family, Pace, Spec};
use mainstay_store::{Agents, Store};

use crate::setup::{AgentsSettings, Setup};

/// What every tool of the family works on.
#[derive(Debug, Clone)]
pub(crate) struct AgentTools {
    store: Store,
    settings: AgentsSettings,
    activity_count: activities::ActivityCount,
}

impl AgentTools {
    fn new(setup: &Setup) -> Self {
        Self {
            store: setup.store.clone(),
            settings: setup.agents.clone(),
            activity_count: activities::ActivityCount::default(),
        }
    }

    /// The storage operations of this family.
    fn agents(&self) -> Agents<'_> {
        self.store.agents()
    }
}

/// A declaration with what all tools of the family have in common: each is a few statements on the store, so its reply
/// needs no stream.
const fn spec(verb: &'static str, effect: Effect) -> Spec {
    Spec { pace: Pace::Instant, tags: &["agents"], ..Spec::new("agents", verb, effect) }
}

/// The family with its tools in the order of the list: the contract's first.
pub(crate) fn family(setup: &Setup) -> Family {
    let tools = AgentTools::new(setup);
    let family = Family::new("agents")
        .tool(log_activity::LogActivity(tools.clone()))
        .tool(check_conflicts::CheckConflicts(tools.clone()))
        .tool(register_component::RegisterComponent(tools.clone()))
        .tool(update_status::UpdateStatus(tools.clone()))
        .tool(heartbeat::Heartbeat(tools.clone()))
        .tool(request_collaboration::RequestCollaboration(tools.clone()))
        .tool(propose_decision::ProposeDecision(tools.clone()))
        .tool(find_component_owner::FindComponentOwner(tools.clone()))
        .tool(delete_all_data::DeleteAllData(tools.clone()))
        .tool(activities::Activities(tools.clone()))
        .tool(list::List(tools.clone()))
        .tool(components::Components(tools.clone()))
        .tool(conflicts::Conflicts(tools.clone()))
        .tool(resolve_conflict::ResolveConflict(tools.clone()))
        .tool(collaborations::Collaborations(tools.clone()))
        .tool(answer_collaboration::AnswerCollaboration(tools.clone()))
        .tool(decisions::Decisions(tools.clone()))
        .tool(vote::CastVote(tools.clone()))
        .tool(resolve_decision::ResolveDecision(tools))
        .resources(resources::AgentResources::new(setup));
    prompts::TEMPLATES.iter().fold(family, |family, template| family.prompt(*template))
}
