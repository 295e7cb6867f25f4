//! `update_status`: how an agent is, and what it is at.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::enums::{Presence, stored};
use super::types::validation;

pub(crate) struct UpdateStatus(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Whose status it is.
    agent: String,
    status: Presence,
    /// What it works on now; without it, nothing. A component named in it counts as worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    current_task: Option<String>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// Whose status was set.
    agent: String,
}

impl Tool for UpdateStatus {
    const SPEC: Spec = Spec {
        title: "Update Status",
        description: "Set the status and the current task of an agent. Both are set together: a call without \
                      current_task says that there is none. agents_list shows them to the others.",
        pace: Pace::Instant,
        dry_run: true,
        idempotent: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "update_status" }],
        ..Spec::new("agents", "update_status", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let task = validation::maybe_text("current_task", args.current_task)?;
        let (intent, status) = (intent(args.dry_run), stored(args.status));
        self.0.agents().set_state(&agent, &status, task, context.clock.now_ms(), intent).await?;
        Ok(Answer::new(
            intent,
            || format!("set the status of {agent} to {status}"),
            || Output { success: true, agent: agent.clone() },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn status_and_task_are_set_together() {
        let team = Team::new().await;
        let listed = async || {
            let agent = team.call("agents_list", json!({})).await.unwrap()["agents"][0].clone();
            (agent["status"].clone(), agent["current_task"].clone())
        };
        let args = json!({"agent": "ann", "status": "busy", "current_task": "api"});
        assert_eq!(team.call("update_status", args).await.unwrap(), json!({"success": true, "agent": "ann"}));
        assert_eq!(listed().await, (json!("busy"), json!("api")));
        let rehearsed = json!({"agent": "ann", "status": "offline", "dry_run": true});
        let told = team.call("update_status", rehearsed).await.unwrap();
        assert_eq!(told["message"], "Would set the status of ann to offline");
        assert_eq!(listed().await, (json!("busy"), json!("api")));
        team.call("update_status", json!({"agent": "ann", "status": "idle"})).await.unwrap();
        assert_eq!(listed().await, (json!("idle"), json!(null)));
    }
}
