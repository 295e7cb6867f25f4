use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A team of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsSettings {
    /// An agent that has not been heard of for this many seconds is not alive.
    pub heartbeat_seconds: u32,
    /// How many hours back activities are looked at for conflicts.
    pub conflict_hours: u32,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self { heartbeat_seconds: 90, conflict_hours: 24 }
    }
}
