//! Status values, categories and priorities, as the contract spells them.
//!
//! `inline` writes each enum into the schema that uses it: clients do not resolve `$ref`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For filters only; every category is compared in conflict checks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ActivityCategory {
    Task,
    Communication,
    Decision,
    Error,
}

/// `Completed` and `Failed` finish an activity: it is no longer compared in conflict checks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ActivityStatus {
    Started,
    InProgress,
    Completed,
    Failed,
}

/// As set by the agent itself. An `Offline` agent does not count as active, and its task conflicts with nothing.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum AgentStatus {
    Active,
    Idle,
    Busy,
    Offline,
}

/// Only an `Active` component is protected: another agent can register the others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ComponentStatus {
    Active,
    Inactive,
    Deprecated,
}

/// For the agent that is asked; lists are not ordered by it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Priority {
    Low,
    Medium,
    High,
    Critical,
}

/// `Declined` and `Completed` are final.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum CollaborationStatus {
    Pending,
    Accepted,
    Declined,
    Completed,
}

/// All but `Open` are final.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum DecisionStatus {
    Open,
    Accepted,
    Rejected,
    Withdrawn,
}

/// The spelling of a variant on the wire, which is also how it is stored.
pub(crate) fn wire_name(variant: impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(_) | Err(_) => String::new(),
    }
}
