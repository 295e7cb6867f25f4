//! `agents_vote`: what one agent thinks.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Tool};
use mainstay_store::{ChangeOutcome, Proposal, Vote, WriteMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::decisions::Entry;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

/// The most agents that vote on one decision.
const VOTERS: usize = 1000;

pub(crate) struct CastVote(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The decision's number, from agents_decisions.
    decision_id: i64,
    /// Who votes.
    agent: String,
    /// What for: yes, no, or one of the choices the proposal names.
    choice: String,
    /// Why.
    #[serde(default)]
    note: Option<String>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The decision as it is now.
    decision: Entry,
}

impl Tool for CastVote {
    const SPEC: Spec = Spec {
        title: "Vote",
        description: "Votes on a decision that is open. Each agent has one vote; voting again changes it, until the \
                      decision is resolved with agents_resolve_decision.",
        pace: Pace::Instant,
        dry_run: true,
        idempotent: true,
        tags: &["agents"],
        ..Spec::new("agents", "vote", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let vote = Vote {
            choice: validation::name("choice", args.choice)?,
            note: validation::maybe_text("note", args.note)?,
            at_ms: context.clock.now_ms(),
        };
        let (id, choice, intent) = (args.decision_id, vote.choice.clone(), intent(args.dry_run));
        let changed = self.0.agents().vote(id, &agent, vote, VOTERS, intent).await?;
        answer(changed, id, intent, refusal, || format!("let {agent} vote {choice} on decision {id}"))
    }
}

/// What came of changing a decision, or would come of it.
pub(super) fn answer(
    changed: ChangeOutcome<Proposal>,
    id: i64,
    intent: WriteMode,
    refusal: fn(&Proposal) -> Error,
    would: impl FnOnce() -> String,
) -> Result<Answer<Output>> {
    match changed {
        ChangeOutcome::Done(decision) => {
            let decision = Entry::try_from(decision)?;
            Ok(Answer::new(intent, would, || Output { success: true, decision }))
        }
        ChangeOutcome::Rejected(decision) => Err(refusal(&decision)),
        ChangeOutcome::NotFound => Err(unknown(id)),
    }
}

fn refusal(decision: &Proposal) -> Error {
    let Proposal { id, status, .. } = decision;
    if status == "open" {
        return Error::new(Kind::TooLarge, format!("Decision {id} has {VOTERS} votes; no more are taken."));
    }
    resolved(decision)
}

/// Nothing is voted on, or resolved, twice.
pub(super) fn resolved(decision: &Proposal) -> Error {
    Error::new(Kind::Conflict, format!("Decision {} is {} already.", decision.id, decision.status))
}

pub(super) fn unknown(id: i64) -> Error {
    Error::not_found(format!("There is no decision {id}; agents_decisions lists those there are."))
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn each_agent_has_one_vote_which_it_may_change_until_the_end() {
        let team = Team::new().await;
        let proposed = json!({"category": "design", "question": "REST?", "proposed_by": "ann"});
        let id = team.call("propose_decision", proposed).await.unwrap()["decision_id"].clone();
        let vote = async |agent: &str, choice: &str, dry_run: bool| {
            let args = json!({"decision_id": id, "agent": agent, "choice": choice, "dry_run": dry_run});
            team.call("agents_vote", args).await
        };
        let told = vote("ann", "yes", true).await.unwrap();
        assert_eq!(told["message"], format!("Would let ann vote yes on decision {id}"));
        vote("ann", "yes", false).await.unwrap();
        vote("bob", "no", false).await.unwrap();
        let changed = vote("bob", "yes", false).await.unwrap();
        assert_eq!(changed["decision"]["tally"], json!({"yes": 2}));
        assert_eq!(changed["decision"]["votes"]["bob"], json!({"choice": "yes", "note": null, "at": team.now()}));
        let resolve = json!({"decision_id": id, "outcome": "accepted", "resolution": "REST it is"});
        let mut rehearsed = resolve.clone();
        rehearsed["dry_run"] = json!(true);
        let told = team.call("agents_resolve_decision", rehearsed).await.unwrap();
        assert_eq!(told["message"], format!("Would resolve decision {id} as accepted"));
        let resolved = team.call("agents_resolve_decision", resolve.clone()).await.unwrap();
        assert_eq!(
            (&resolved["decision"]["status"], &resolved["decision"]["resolution"]),
            (&json!("accepted"), &json!("REST it is"))
        );
        assert_eq!(vote("cid", "no", false).await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(team.call("agents_resolve_decision", resolve).await.unwrap_err().kind, Kind::Conflict);
        let nowhere = json!({"decision_id": 99, "agent": "ann", "choice": "yes"});
        assert_eq!(team.call("agents_vote", nowhere).await.unwrap_err().kind, Kind::NotFound);
    }
}
