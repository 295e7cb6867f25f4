//! A team of agents: what each does, owns and asks, where they get in each other's way, and what they decide.
//!
//! Eight tools, four resources and three prompts are contract 001's. The other tools read back what those wrote.

mod activities;
mod activity_count;
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
mod prompts;
mod propose_decision;
mod register_component;
mod request_collaboration;
mod resolve_conflict;
mod resolve_decision;
mod resources;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
mod types;
mod update_status;
mod vote;

use mainstay_core::Family;
use mainstay_store::{Agents, Store};

pub use settings::AgentsSettings;

#[cfg(test)]
pub(crate) use testing::setup;

use crate::Setup;

/// What every tool of the family works on.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    store: Store,
    settings: AgentsSettings,
    tally: activity_count::Tally,
}

impl Desk {
    fn agents(&self) -> Agents<'_> {
        self.store.agents()
    }
}

pub(crate) fn family(setup: &Setup) -> Family {
    let desk =
        Desk { store: setup.store.clone(), settings: setup.agents.clone(), tally: activity_count::Tally::default() };
    let family = Family::new("agents")
        .tool(log_activity::LogActivity(desk.clone()))
        .tool(check_conflicts::CheckConflicts(desk.clone()))
        .tool(register_component::RegisterComponent(desk.clone()))
        .tool(update_status::UpdateStatus(desk.clone()))
        .tool(heartbeat::Heartbeat(desk.clone()))
        .tool(request_collaboration::RequestCollaboration(desk.clone()))
        .tool(propose_decision::ProposeDecision(desk.clone()))
        .tool(find_component_owner::FindComponentOwner(desk.clone()))
        .tool(delete_all_data::DeleteAllData(desk.clone()))
        .tool(activities::Activities(desk.clone()))
        .tool(list::List(desk.clone()))
        .tool(components::Components(desk.clone()))
        .tool(conflicts::Conflicts(desk.clone()))
        .tool(resolve_conflict::ResolveConflict(desk.clone()))
        .tool(collaborations::Collaborations(desk.clone()))
        .tool(answer_collaboration::AnswerCollaboration(desk.clone()))
        .tool(decisions::Decisions(desk.clone()))
        .tool(vote::CastVote(desk.clone()))
        .tool(resolve_decision::ResolveDecision(desk.clone()))
        .resources(resources::Shelf::new(setup));
    prompts::TEMPLATES.iter().fold(family, |family, template| family.prompt(*template))
}
