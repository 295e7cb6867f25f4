//! `agents_heartbeat`: record that an agent is alive. Every other tool that an agent calls as itself does the same; this
//! one is for agents that have nothing else to report.

use super::prelude::*;

pub(crate) struct Heartbeat(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the agent.
    agent: String,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Time of the heartbeat, in ISO-8601.
    timestamp: String,
}

impl Tool for Heartbeat {
    const SPEC: Spec = Spec {
        title: "Heartbeat",
        description: "Record a heartbeat for an agent. Send one more often than agents.heartbeat_seconds (default 90), or \
                      agents_list shows the agent as not alive; every other call of the agent counts, too.",
        dry_run: true,
        idempotent: true,
        spellings: &[Spelling { dialect: "agents", name: "heartbeat" }],
        ..spec("heartbeat", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let now_ms = context.clock.now_ms();
        self.0.agents().heartbeat(&agent, now_ms, write_mode(args.dry_run)).await?;
        let done = Output { timestamp: iso8601(now_ms) };
        Ok(WriteReply::new(args.dry_run, || format!("record a heartbeat of {agent}"), done))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn agent_is_alive_until_it_misses_its_heartbeat() {
        let team = Team::new().await;
        let beat = team.call("heartbeat", json!({"agent": "ann"})).await.unwrap();
        assert_eq!(beat, json!({"success": true, "timestamp": team.now()}));
        let alive = async || team.call("agents_list", json!({})).await.unwrap()["agents"][0]["alive"].clone();
        team.advance_seconds(90);
        assert_eq!(alive().await, true);
        team.advance_seconds(1);
        assert_eq!(alive().await, false);
        let dry_run_args = team.call("heartbeat", json!({"agent": "ann", "dry_run": true})).await.unwrap();
        assert_eq!(dry_run_args["message"], "Would record a heartbeat of ann");
        assert_eq!(alive().await, false);
        team.call("heartbeat", json!({"agent": "ann"})).await.unwrap();
        assert_eq!(alive().await, true);
    }
}
