//! `agents_propose_decision`: put a question to the team. It stays open until `agents_resolve_decision` closes it.

use mainstay_store::NewProposal;

use super::prelude::*;

pub(crate) struct ProposeDecision(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Category of the decision; any name.
    category: String,
    /// What is to be decided.
    question: String,
    /// Name of the agent that proposes it.
    proposed_by: String,
    /// Any further data, such as the choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    metadata: Option<Map<String, Value>>,
    /// Store nothing; report what would be proposed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Id of the decision.
    decision_id: i64,
}

impl Tool for ProposeDecision {
    const SPEC: Spec = Spec {
        title: "Propose Decision",
        description: "Propose a decision to the team. The others find it in agents_decisions and vote with \
                      agents_vote; agents_resolve_decision closes it.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "propose_decision" }],
        ..spec("propose_decision", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let category = validation::name("category", args.category)?;
        let proposed_by = validation::name("proposed_by", args.proposed_by)?;
        let would = format!("propose a decision on {category} by {proposed_by}");
        let proposal = NewProposal {
            category,
            question: validation::text("question", args.question)?,
            proposed_by,
            metadata: validation::object_json("metadata", args.metadata)?,
            now_ms: context.clock.now_ms(),
        };
        let decision_id = self.0.agents().propose(proposal, write_mode(args.dry_run)).await?;
        Ok(WriteReply::new(args.dry_run, || would, Output { decision_id }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn proposal_is_open_and_listed() {
        let team = Team::new().await;
        let args = json!({"category": "design", "question": "REST?", "proposed_by": "ann", "metadata": {"a": 1}});
        let mut dry_run_args = args.clone();
        dry_run_args["dry_run"] = json!(true);
        let reply = team.call("propose_decision", dry_run_args).await.unwrap();
        assert_eq!(reply["message"], "Would propose a decision on design by ann");
        let proposed = team.call("propose_decision", args).await.unwrap();
        let id = proposed["decision_id"].as_i64().unwrap();
        assert_eq!(proposed, json!({"success": true, "decision_id": id}));
        let read = team.call("agents_decisions", json!({"status": "open"})).await.unwrap();
        let expected = json!([{"id": id, "category": "design", "question": "REST?", "proposed_by": "ann",
            "status": "open", "timestamp": team.now(), "metadata": {"a": 1}, "votes": {}, "tally": {},
            "resolution": null, "resolved_at": null}]);
        assert_eq!(read["decisions"], expected);
    }
}
