//! The views of the server as a whole: how it and the agents are doing, and what protects it.

use mainstay_auth::oauth::ACCESS_LIFETIME;
use mainstay_core::Result;
use mainstay_wire::agents;
use serde_json::{Value, json};

use super::Api;
use crate::dialect::RequestContext;

/// How many agents, and how many of the newest activities, are shown. The counts are of all.
const LIMIT: u32 = 50;

impl Api {
    pub(super) async fn status(&self, context: &RequestContext) -> Result<Value> {
        let (engine, caller) = (&self.dispatcher.engine, &context.connection.caller);
        let [tools, resources, prompts] = self.dispatcher.counts(caller)?;
        let page = json!({"limit": LIMIT, "count": true});
        let listed = engine.read_tool(caller, "agents_list", page.clone()).await?.unwrap_or_default();
        let logged = engine.read_tool(caller, "agents_activities", page).await?.unwrap_or_default();
        Ok(json!({
            "status": "operational",
            "mcp_version": agents::VERSION,
            "capabilities": self.capabilities(context).await?,
            "agents": rows(&listed, "agents"),
            "activities": rows(&logged, "activities"),
            "system_stats": {
                "total_activities": logged["total"].as_i64().unwrap_or(0),
                "active_agents": listed["active"].as_i64().unwrap_or(0),
                "tools_available": tools,
                "resources_available": resources,
                "prompts_available": prompts,
            },
        }))
    }

    /// The settings that protect the server.
    pub(super) fn security(&self) -> Value {
        let (engine, dialect) = (&self.dispatcher.engine, &self.dispatcher.dialect);
        let settings = engine.settings();
        let quota = engine.quota(dialect.policy());
        let per_minute = quota.map(|quota| u64::from(quota.calls) * 60 / u64::from(quota.seconds.max(1)));
        let consent = &settings.consent;
        let consent = !consent.required_for.is_empty()
            || !consent.required_for_tools.is_empty()
            || !consent.required_for_words.is_empty();
        json!({
            "security": {
                "oauth_enabled": self.issues_tokens,
                "consent_flow": consent,
                "path_protection": !self.protected.is_empty(),
                "rate_limiting": true,
                "audit_logging": true,
                "dangerous_operations": settings.consent.required_for_words,
            },
            "policies": {
                "token_expiry_hours": ACCESS_LIFETIME.as_secs() / 3600,
                "consent_expiry_minutes": settings.consent.minutes,
                "rate_limit_per_minute": per_minute,
                "path_blacklist": self.protected,
            },
        })
    }
}

/// None where the server has no family of that kind.
fn rows(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().cloned().unwrap_or_default()
}
