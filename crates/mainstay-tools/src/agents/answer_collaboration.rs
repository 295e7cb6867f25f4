//! `agents_answer_collaboration`: yes, no, or done.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Tool};
use mainstay_store::{ChangeOutcome, Collaboration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::collaborations::Entry;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

pub(crate) struct AnswerCollaboration(pub(super) Desk);

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Says {
    Accept,
    Decline,
    Complete,
}

impl Says {
    /// The state that follows.
    const fn state(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Decline => "declined",
            Self::Complete => "completed",
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The request's number, from agents_collaborations.
    id: i64,
    /// Who answers: the agent that was asked.
    agent: String,
    answer: Says,
    /// A word with it; without one an earlier note stays.
    #[serde(default)]
    note: Option<String>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The request as it is now.
    collaboration: Entry,
}

impl Tool for AnswerCollaboration {
    const SPEC: Spec = Spec {
        title: "Answer Collaboration",
        description: "Accepts, declines or completes a request for collaboration, as the agent it was made to. What \
                      is accepted can be completed or declined later; what is declined or completed stays so.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        ..Spec::new("agents", "answer_collaboration", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let note = validation::maybe_text("note", args.note)?;
        let (id, state, intent) = (args.id, args.answer.state(), intent(args.dry_run));
        match self.0.agents().answer(id, &agent, state, note, context.clock.now_ms(), intent).await? {
            ChangeOutcome::Done(now) => Ok(Answer::new(
                intent,
                || format!("set request {id} to {state}"),
                || Output { success: true, collaboration: now.clone().into() },
            )),
            ChangeOutcome::Rejected(as_it_is) => Err(refusal(&as_it_is, &agent)),
            ChangeOutcome::NotFound => {
                Err(Error::not_found(format!("There is no request {id}; agents_collaborations lists those there are.")))
            }
        }
    }
}

fn refusal(request: &Collaboration, agent: &str) -> Error {
    let Collaboration { id, to_agent, status, .. } = request;
    if to_agent != agent {
        return Error::denied(format!("Request {id} was made to {to_agent:?}; {agent:?} cannot answer it."));
    }
    Error::new(Kind::Conflict, format!("Request {id} is {status} already."))
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn only_the_one_who_was_asked_answers_and_an_end_is_an_end() {
        let team = Team::new().await;
        let asked = json!({"from_agent": "ann", "to_agent": "bob", "task": "Review", "priority": "high"});
        let id = team.call("request_collaboration", asked).await.unwrap()["request_id"].clone();
        let answer = async |agent: &str, answer: &str, dry_run: bool| {
            let args = json!({"id": id, "agent": agent, "answer": answer, "note": "soon", "dry_run": dry_run});
            team.call("agents_answer_collaboration", args).await
        };
        assert_eq!(answer("ann", "accept", false).await.unwrap_err().kind, Kind::Denied);
        let told = answer("bob", "accept", true).await.unwrap();
        assert_eq!(told["message"], format!("Would set request {id} to accepted"));
        let pending = async || team.call("agents_collaborations", json!({"status": "pending"})).await.unwrap();
        assert_eq!(pending().await["collaborations"].as_array().unwrap().len(), 1);
        let accepted = answer("bob", "accept", false).await.unwrap();
        assert_eq!(
            (&accepted["collaboration"]["status"], &accepted["collaboration"]["note"]),
            (&json!("accepted"), &json!("soon"))
        );
        assert_eq!(answer("bob", "accept", false).await.unwrap_err().kind, Kind::Conflict);
        answer("bob", "complete", false).await.unwrap();
        assert_eq!(answer("bob", "decline", false).await.unwrap_err().kind, Kind::Conflict);
        let nowhere = json!({"id": 99, "agent": "bob", "answer": "accept"});
        assert_eq!(team.call("agents_answer_collaboration", nowhere).await.unwrap_err().kind, Kind::NotFound);
    }
}
