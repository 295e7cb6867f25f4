//! The engine's section of the configuration.

use std::collections::BTreeMap;

use mainstay_auth::ConsentSettings;
use mainstay_core::{Error, Quota, Registry, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::retention::RetentionSettings;

/// Limits, deadlines and consent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSettings {
    /// Calls one connection may have running; further ones wait their turn.
    pub in_flight_per_connection: u32,
    /// Calls one connection may have waiting; further ones are refused.
    pub queue_per_connection: u32,
    /// Calls running at once, from all connections together.
    pub in_flight: u32,
    /// Seconds a call may take.
    pub deadline_seconds: u64,
    /// Seconds a call of a tool that is known to take long may take.
    pub long_deadline_seconds: u64,
    /// Seconds calls are given to finish when the server stops.
    pub drain_seconds: u64,
    /// Hours an idempotency key is remembered.
    pub idempotency_hours: u32,
    pub rate: RateSettings,
    pub retention: RetentionSettings,
    pub consent: ConsentSettings,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            in_flight_per_connection: 128,
            queue_per_connection: 1024,
            in_flight: 2048,
            deadline_seconds: 120,
            long_deadline_seconds: 3600,
            drain_seconds: 30,
            idempotency_hours: 24,
            rate: RateSettings::default(),
            retention: RetentionSettings::default(),
            consent: ConsentSettings::default(),
        }
    }
}

/// Names of tools are resolved once, when the engine starts.
impl EngineSettings {
    /// With every tool under the name it is listed by, which is the one the policies ask for. A name that is no tool's
    /// is an error: a typing mistake must not leave open what was meant to be limited.
    pub(crate) fn resolved(mut self, registry: &Registry) -> Result<Self> {
        for name in &mut self.consent.required_for_tools {
            *name = listed(registry, "engine.consent.required_for_tools", name)?;
        }
        let mut per_tool = BTreeMap::new();
        for (name, quota) in std::mem::take(&mut self.rate.per_tool) {
            let tool = listed(registry, "engine.rate.per_tool", &name)?;
            if per_tool.insert(tool, quota).is_some() {
                return Err(Error::invalid(format!(
                    "engine.rate.per_tool names {name:?}, and the same tool in another spelling too; keep one of them."
                )));
            }
        }
        self.rate.per_tool = per_tool;
        Ok(self)
    }
}

/// The listed name of a tool that a setting names in any of its spellings.
fn listed(registry: &Registry, setting: &str, name: &str) -> Result<String> {
    let tool = registry.tool(name).ok_or_else(|| {
        Error::invalid(format!("{setting} names {name:?}, and there is no such tool; see `mainstay tools`."))
    })?;
    Ok(tool.info().listed.clone())
}

/// How often a client may call. The defaults stop a client that has run away, and nobody else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateSettings {
    /// All calls of one client together; looking at a list is one, too.
    pub per_client: Option<Quota>,
    /// Calls of any one tool by one client, for tools that are not in per_tool.
    pub each_tool: Option<Quota>,
    /// Calls of one tool by one client, by the tool's name in any of its spellings.
    pub per_tool: BTreeMap<String, Quota>,
    /// All requests of one session in a dialect, by the dialect's name, instead of the quota it declares. Requests
    /// without a session, and those that open one, count for their principal, or for their address without
    /// authentication. `agents` declares 100 requests a minute; so do `consent`, for consent pages and decisions, and
    /// `consent_status`, for programs that ask what was decided. `toolkit` declares 1000 in 10 seconds, as a token
    /// bucket: 1000 at once, and 100 a second from then on.
    pub per_dialect: BTreeMap<String, Quota>,
}

impl Default for RateSettings {
    fn default() -> Self {
        Self {
            per_client: Some(Quota { calls: 60_000, seconds: 60 }),
            each_tool: Some(Quota { calls: 30_000, seconds: 60 }),
            per_tool: BTreeMap::new(),
            per_dialect: BTreeMap::new(),
        }
    }
}
