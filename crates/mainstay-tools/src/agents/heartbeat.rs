//! `heartbeat`: an agent is there.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, iso8601};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

pub(crate) struct Heartbeat(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Who is there.
    agent: String,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// When the server heard it, in ISO-8601.
    timestamp: String,
}

impl Tool for Heartbeat {
    const SPEC: Spec = Spec {
        title: "Heartbeat",
        description: "Tell that an agent is still there. Send it more often than agents.heartbeat_seconds (90 unless \
                      set otherwise), or agents_list shows the agent as not alive; every other call of the agent counts too.",
        pace: Pace::Instant,
        dry_run: true,
        idempotent: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "heartbeat" }],
        ..Spec::new("agents", "heartbeat", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let (intent, now_ms) = (intent(args.dry_run), context.clock.now_ms());
        self.0.agents().heartbeat(&agent, now_ms, intent).await?;
        Ok(Answer::new(
            intent,
            || format!("record a heartbeat of {agent}"),
            || Output { success: true, timestamp: iso8601(now_ms) },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn an_agent_that_was_heard_is_alive_until_its_heartbeat_is_missed() {
        let team = Team::new().await;
        let beat = team.call("heartbeat", json!({"agent": "ann"})).await.unwrap();
        assert_eq!(beat, json!({"success": true, "timestamp": team.now()}));
        let alive = async || team.call("agents_list", json!({})).await.unwrap()["agents"][0]["alive"].clone();
        team.wait_seconds(90);
        assert_eq!(alive().await, true);
        team.wait_seconds(1);
        assert_eq!(alive().await, false);
        let rehearsed = team.call("heartbeat", json!({"agent": "ann", "dry_run": true})).await.unwrap();
        assert_eq!(rehearsed["message"], "Would record a heartbeat of ann");
        assert_eq!(alive().await, false);
        team.call("heartbeat", json!({"agent": "ann"})).await.unwrap();
        assert_eq!(alive().await, true);
    }
}
