//! `agents_resolve_decision`: it is decided.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::enums::stored;
use super::types::validation;
use super::vote::{Output, answer, resolved};

pub(crate) struct ResolveDecision(pub(super) Desk);

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum End {
    Accepted,
    Rejected,
    Withdrawn,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The decision's number, from agents_decisions.
    decision_id: i64,
    outcome: End,
    /// What was decided, in words.
    #[serde(default)]
    resolution: Option<String>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

impl Tool for ResolveDecision {
    const SPEC: Spec = Spec {
        title: "Resolve Decision",
        description: "Ends a decision as accepted, rejected or withdrawn, with a word on what was decided. After that \
                      nobody votes on it any more.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        ..Spec::new("agents", "resolve_decision", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let resolution = validation::maybe_text("resolution", args.resolution)?;
        let (id, outcome, intent) = (args.decision_id, stored(args.outcome), intent(args.dry_run));
        let now = context.clock.now_ms();
        let changed = self.0.agents().resolve_proposal(id, &outcome, resolution, now, intent).await?;
        answer(changed, id, intent, resolved, || format!("resolve decision {id} as {outcome}"))
    }
}
