//! `agents_update_status`: set an agent's status and current task.
//!
//! The task matters for conflicts: a registered component that is named in it counts as worked on.

use super::prelude::*;

pub(crate) struct UpdateStatus(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the agent.
    agent: String,
    /// Status of the agent.
    status: AgentStatus,
    /// What the agent works on; left out, the task is cleared. A component named in it counts as worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    current_task: Option<String>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Name of the agent.
    agent: String,
}

impl Tool for UpdateStatus {
    const SPEC: Spec = Spec {
        title: "Update Status",
        description: "Set the status and the current task of an agent. Both are set together: a call without \
                      current_task clears the task. agents_list shows them to the others.",
        dry_run: true,
        idempotent: true,
        spellings: &[Spelling { dialect: "agents", name: "update_status" }],
        ..spec("update_status", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let task = validation::optional_text("current_task", args.current_task)?;
        let (write_mode, status) = (write_mode(args.dry_run), wire_name(args.status));
        self.0.agents().set_state(&agent, &status, task, context.clock.now_ms(), write_mode).await?;
        let would = format!("set the status of {agent} to {status}");
        Ok(WriteReply::new(args.dry_run, || would, Output { agent }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
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
        let dry_run_args = json!({"agent": "ann", "status": "offline", "dry_run": true});
        let reply = team.call("update_status", dry_run_args).await.unwrap();
        assert_eq!(reply["message"], "Would set the status of ann to offline");
        assert_eq!(listed().await, (json!("busy"), json!("api")));
        team.call("update_status", json!({"agent": "ann", "status": "idle"})).await.unwrap();
        assert_eq!(listed().await, (json!("idle"), json!(null)));
    }
}
