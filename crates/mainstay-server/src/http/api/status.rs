//! How the agents and the server are doing.

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
}

/// None where the server has no family of that kind.
fn rows(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().cloned().unwrap_or_default()
}
