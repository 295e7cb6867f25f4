//! `agents_answer_collaboration`: accept, decline or complete a collaboration request.
//!
//! The store checks in the transaction of the change whether the answer is allowed, so two answers at once cannot both
//! succeed.

use mainstay_store::Collaboration;

use super::collaborations::Entry;
use super::prelude::*;

pub(crate) struct AnswerCollaboration(pub(super) AgentTools);

/// Serialized, it is the status that the request has afterwards.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Answer {
    #[serde(rename(deserialize = "accept", serialize = "accepted"))]
    Accept,
    #[serde(rename(deserialize = "decline", serialize = "declined"))]
    Decline,
    #[serde(rename(deserialize = "complete", serialize = "completed"))]
    Complete,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Id of the request, from agents_collaborations.
    id: i64,
    /// Name of the agent that answers: the one that was asked.
    agent: String,
    /// What the agent decides.
    answer: Answer,
    /// Note on the answer; left out, an earlier note stays.
    note: Option<String>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The request after the change.
    collaboration: Entry,
}

impl Tool for AnswerCollaboration {
    const SPEC: Spec = Spec {
        title: "Answer Collaboration",
        description: "Accept, decline or complete a collaboration request, as the agent that was asked. An accepted \
                      request can be completed or declined later; declined and completed are final.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "answer_collaboration" }],
        ..spec("answer_collaboration", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let note = validation::optional_text("note", args.note)?;
        let (id, status, write_mode) = (args.id, wire_name(args.answer), write_mode(args.dry_run));
        let changed = self.0.agents().answer(id, &agent, &status, note, context.clock.now_ms(), write_mode).await?;
        let row = updated_row(changed, ("request", id), |row| refusal(&row, &agent))?;
        let done = Output { collaboration: row.into() };
        Ok(WriteReply::new(args.dry_run, || format!("set request {id} to {status}"), done))
    }
}

fn refusal(request: &Collaboration, agent: &str) -> Error {
    let Collaboration { id, to_agent, status, .. } = request;
    if to_agent != agent {
        return Error::denied(format!("Request {id} was made to {to_agent:?}; {agent:?} cannot answer it."));
    }
    Error::new(Kind::Conflict, format!("Request {id} is already {status}."))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn only_the_asked_agent_can_answer_and_final_states_stay() {
        let team = Team::new().await;
        let asked = json!({"from_agent": "ann", "to_agent": "bob", "task": "Review", "priority": "high"});
        let id = team.call("request_collaboration", asked).await.unwrap()["request_id"].clone();
        let answer = async |agent: &str, answer: &str, dry_run: bool| {
            let args = json!({"id": id, "agent": agent, "answer": answer, "note": "soon", "dry_run": dry_run});
            team.call("agents_answer_collaboration", args).await
        };
        assert_eq!(answer("ann", "accept", false).await.unwrap_err().kind, Kind::Denied);
        let reply = answer("bob", "accept", true).await.unwrap();
        assert_eq!(reply["message"], format!("Would set request {id} to accepted"));
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
