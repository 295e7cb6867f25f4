//! The configuration section `[agents]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Coordination of a team of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsSettings {
    /// Seconds without any call of an agent after which agents_list reports it as not alive.
    pub heartbeat_seconds: u32,
    /// Hours that agents_check_conflicts looks back at activities.
    pub conflict_hours: u32,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self { heartbeat_seconds: 90, conflict_hours: 24 }
    }
}
