//! `agents_resolve_decision`: close a decision. Votes are not counted here: whoever closes it says what was decided.

use super::prelude::*;
use super::vote::{Output, reply};

pub(crate) struct ResolveDecision(pub(super) AgentTools);

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Outcome {
    Accepted,
    Rejected,
    Withdrawn,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Id of the decision, from agents_decisions.
    decision_id: i64,
    /// Final status of the decision.
    outcome: Outcome,
    /// What was decided.
    resolution: Option<String>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

impl Tool for ResolveDecision {
    const SPEC: Spec = Spec {
        title: "Resolve Decision",
        description: "Close a decision as accepted, rejected or withdrawn, with an optional note on what was decided. A \
                      closed decision takes no more votes.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "resolve_decision" }],
        ..spec("resolve_decision", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let resolution = validation::optional_text("resolution", args.resolution)?;
        let (id, outcome, write_mode) = (args.decision_id, wire_name(args.outcome), write_mode(args.dry_run));
        let now_ms = context.clock.now_ms();
        let changed = self.0.agents().resolve_proposal(id, &outcome, resolution, now_ms, write_mode).await?;
        reply(changed, id, args.dry_run, || format!("resolve decision {id} as {outcome}"))
    }
}
