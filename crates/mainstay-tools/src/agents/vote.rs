//! `agents_vote`: vote on an open decision. One vote for each agent, the last one.

use mainstay_store::{ChangeOutcome, Proposal, Vote};

use super::decisions::Entry;
use super::prelude::*;

/// The votes of a decision are stored in one row and returned with it, so their number is limited.
const MAX_VOTERS: usize = 1000;

pub(crate) struct CastVote(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Id of the decision, from agents_decisions.
    decision_id: i64,
    /// Name of the agent that votes.
    agent: String,
    /// yes, no, or one of the choices that the proposal names.
    choice: String,
    /// Reason for the vote.
    note: Option<String>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The decision after the change.
    decision: Entry,
}

impl Tool for CastVote {
    const SPEC: Spec = Spec {
        title: "Vote",
        description: "Vote on an open decision. Each agent has one vote and can change it by voting again, until \
                      agents_resolve_decision closes the decision.",
        dry_run: true,
        idempotent: true,
        spellings: &[Spelling { dialect: "agents", name: "vote" }],
        ..spec("vote", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let vote = Vote {
            choice: validation::name("choice", args.choice)?,
            note: validation::optional_text("note", args.note)?,
            at_ms: context.clock.now_ms(),
        };
        // The choice is not checked against the proposal: choices are free text in its metadata, if they are there at all.
        let (id, choice) = (args.decision_id, vote.choice.clone());
        let changed = self.0.agents().vote(id, &agent, vote, MAX_VOTERS, write_mode(args.dry_run)).await?;
        reply(changed, id, args.dry_run, || format!("let {agent} vote {choice} on decision {id}"))
    }
}

/// The reply of a tool that changes a decision: `vote` or `resolve_decision`.
pub(super) fn reply(
    changed: ChangeOutcome<Proposal>,
    id: i64,
    dry_run: bool,
    would: impl FnOnce() -> String,
) -> Result<WriteReply<Output>> {
    let decision = updated_row(changed, ("decision", id), refusal)?;
    Ok(WriteReply::new(dry_run, would, Output { decision: Entry::new(decision)? }))
}

/// The store refuses a change of a decision that is closed, and a vote beyond the limit on an open one.
fn refusal(decision: Proposal) -> Error {
    let Proposal { id, status, .. } = decision;
    if status == "open" {
        return Error::new(Kind::TooLarge, format!("Decision {id} has {MAX_VOTERS} votes, which is the maximum."));
    }
    Error::new(Kind::Conflict, format!("Decision {id} is already {status}."))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn each_agent_has_one_vote_that_can_change_until_the_decision_is_closed() {
        let team = Team::new().await;
        let proposed = json!({"category": "design", "question": "REST?", "proposed_by": "ann"});
        let id = team.call("propose_decision", proposed).await.unwrap()["decision_id"].clone();
        let vote = async |agent: &str, choice: &str, dry_run: bool| {
            let args = json!({"decision_id": id, "agent": agent, "choice": choice, "dry_run": dry_run});
            team.call("agents_vote", args).await
        };
        let reply = vote("ann", "yes", true).await.unwrap();
        assert_eq!(reply["message"], format!("Would let ann vote yes on decision {id}"));
        vote("ann", "yes", false).await.unwrap();
        vote("bob", "no", false).await.unwrap();
        let changed = vote("bob", "yes", false).await.unwrap();
        assert_eq!(changed["decision"]["tally"], json!({"yes": 2}));
        assert_eq!(changed["decision"]["votes"]["bob"], json!({"choice": "yes", "note": null, "at": team.now()}));
        let resolve = json!({"decision_id": id, "outcome": "accepted", "resolution": "REST it is"});
        let mut dry_run_args = resolve.clone();
        dry_run_args["dry_run"] = json!(true);
        let reply = team.call("agents_resolve_decision", dry_run_args).await.unwrap();
        assert_eq!(reply["message"], format!("Would resolve decision {id} as accepted"));
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
