//! What a call does to the world, what it is approved to do, and the change that a tool has planned but may not make yet.
//!
//! What a call does to the world follows from its arguments as far as they tell. Some of it shows only when the call is
//! planned: that a file would lose all its content, or that a path leads to a file which other programs run. A tool that
//! plans its changes ([`Spec::plans`](crate::Spec::plans)) compares the plan with its [`Approval`] before it changes
//! anything; a plan that goes further is returned as [`Reason::Unapproved`](crate::Reason::Unapproved). The pipeline
//! applies its policies to that plan, and runs the tool again with it approved.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Scope;

string_enum! {
    /// What a tool does to the world. Scopes, consent, audit and retries all follow from it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, serde::Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Effect {
        Reads = "reads",
        Writes = "writes",
        Executes = "executes",
        Destroys = "destroys",
    }
}

impl Effect {
    pub const fn scope(self) -> Scope {
        match self {
            Self::Reads => Scope::Read,
            Self::Writes => Scope::Write,
            Self::Executes => Scope::Execute,
            Self::Destroys => Scope::Delete,
        }
    }

    /// Whether the call has to be on record before anybody is told that it happened.
    pub const fn changes(self) -> bool {
        !matches!(self, Self::Reads)
    }
}

/// What a running call may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Nothing yet: the call is to be planned, and the plan returned.
    Missing,
    /// Whatever has this effect, and nothing that a person has to be asked about.
    Effect(Effect),
    /// The plan with this state.
    Plan(String),
}

/// A change that is planned and not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChange {
    /// What the change does to the world.
    pub effect: Effect,
    /// A digest of what is there now and would be changed: if any of it changes, so does this.
    pub state: String,
    /// A person has to approve it, whatever its effect is.
    pub ask: bool,
    /// What the person should know, in one sentence.
    pub notice: Option<String>,
}

impl Approval {
    /// Whether this plan may be carried out.
    pub fn covers(&self, plan: &PlannedChange) -> bool {
        match self {
            Self::Missing => false,
            Self::Effect(effect) => plan.effect <= *effect && !plan.ask,
            Self::Plan(state) => plan.state == *state,
        }
    }
}
