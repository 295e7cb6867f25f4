//! `propose_decision`: a question for the team.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::NewProposal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

pub(crate) struct ProposeDecision(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// What kind of decision it is, in a word of your own.
    category: String,
    /// What is to be decided.
    question: String,
    /// Who asks.
    proposed_by: String,
    /// Anything more, such as the choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    metadata: Option<Map<String, Value>>,
    /// Store nothing; say what would be proposed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The decision's number.
    decision_id: i64,
}

impl Tool for ProposeDecision {
    const SPEC: Spec = Spec {
        title: "Propose Decision",
        description: "Propose a decision to the team. The others find it in agents_decisions and vote with \
                      agents_vote; agents_resolve_decision ends it.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "propose_decision" }],
        ..Spec::new("agents", "propose_decision", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let (category, by) =
            (validation::name("category", args.category)?, validation::name("proposed_by", args.proposed_by)?);
        let proposal = NewProposal {
            category: category.clone(),
            question: validation::text("question", args.question)?,
            proposed_by: by.clone(),
            metadata: validation::object("metadata", args.metadata)?,
            now_ms: context.clock.now_ms(),
        };
        let intent = intent(args.dry_run);
        let decision_id = self.0.agents().propose(proposal, intent).await?;
        Ok(Answer::new(
            intent,
            || format!("propose a decision on {category} by {by}"),
            || Output { success: true, decision_id },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn a_proposal_is_open_and_can_be_read() {
        let team = Team::new().await;
        let args = json!({"category": "design", "question": "REST?", "proposed_by": "ann", "metadata": {"a": 1}});
        let mut rehearsed = args.clone();
        rehearsed["dry_run"] = json!(true);
        let told = team.call("propose_decision", rehearsed).await.unwrap();
        assert_eq!(told["message"], "Would propose a decision on design by ann");
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
