//! How the agents and the server are doing.

use mainstay_core::{Call, Outcome, Result};
use mainstay_wire::agents;
use serde_json::{Value, json};

use super::Api;
use crate::agents::Visit;

/// The newest activities that are shown.
const ACTIVITIES: u32 = 20;

impl Api {
    pub(super) async fn status(&self, visit: &Visit) -> Result<Value> {
        let [tools, resources, prompts] = self.desk.counts(&visit.origin.caller)?;
        let listed = self.ask("agents_list", json!({}), visit).await;
        let logged = self.ask("agents_activities", json!({"limit": ACTIVITIES, "count": true}), visit).await;
        let (agents_known, activities) = (rows(&listed, "agents"), rows(&logged, "activities"));
        let total = logged["total"].as_u64().unwrap_or(activities.len() as u64);
        Ok(json!({
            "status": "operational",
            "mcp_version": agents::VERSION,
            "capabilities": self.desk.capabilities(visit).await?,
            "system_stats": {
                "total_activities": total,
                "active_agents": agents_known.iter().filter(|agent| is_active(agent)).count(),
                "tools_available": tools,
                "resources_available": resources,
                "prompts_available": prompts,
            },
            "agents": agents_known,
            "activities": activities,
        }))
    }

    /// What a tool of the coordination family says; nothing where there is no such tool, or it does not answer.
    async fn ask(&self, tool: &str, args: Value, visit: &Visit) -> Value {
        if self.desk.engine.registry().tool(tool).is_none() {
            return Value::Null;
        }
        let mut call = Call::tool(tool, args, visit.origin.caller.clone());
        call.request_id = visit.request_id.clone();
        match self.desk.engine.call(call, &visit.origin.lane).await {
            Ok(Outcome::Reply(reply)) => reply.structured.unwrap_or_default(),
            Ok(Outcome::Contents(_) | Outcome::Prompt(_)) | Err(_) => Value::Null,
        }
    }
}

fn rows(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().cloned().unwrap_or_default()
}

fn is_active(agent: &Value) -> bool {
    agent["status"] != "offline" && agent["alive"] != false
}
