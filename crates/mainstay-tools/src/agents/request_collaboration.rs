//! `request_collaboration`: one agent asks another.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::NewCollaboration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::enums::{Priority, stored};
use super::types::validation;

pub(crate) struct RequestCollaboration(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Who asks.
    from_agent: String,
    /// Who is asked.
    to_agent: String,
    /// What is to be done.
    task: String,
    /// How urgent it is; medium unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Priority")]
    priority: Option<Priority>,
    /// Store nothing; say what would be asked.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The request's number.
    request_id: i64,
}

impl Tool for RequestCollaboration {
    const SPEC: Spec = Spec {
        title: "Request Collaboration",
        description: "Ask another agent to take part in a task. The one who is asked finds it in \
                      agents_collaborations and answers with agents_answer_collaboration.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "request_collaboration" }],
        ..Spec::new("agents", "request_collaboration", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let from_agent = validation::name("from_agent", args.from_agent)?;
        let to_agent = validation::name("to_agent", args.to_agent)?;
        if from_agent == to_agent {
            let told = format!("from_agent and to_agent are both {to_agent:?}; ask somebody else.");
            return Err(Error::field("to_agent", told));
        }
        let request = NewCollaboration {
            from_agent: from_agent.clone(),
            to_agent: to_agent.clone(),
            task: validation::text("task", args.task)?,
            priority: stored(args.priority.unwrap_or(Priority::Medium)),
            now_ms: context.clock.now_ms(),
        };
        let intent = intent(args.dry_run);
        let request_id = self.0.agents().request(request, intent).await?;
        Ok(Answer::new(
            intent,
            || format!("ask {to_agent} to collaborate with {from_agent}"),
            || Output { success: true, request_id },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn a_request_reaches_the_one_it_is_to_and_nobody_asks_themselves() {
        let team = Team::new().await;
        let args = json!({"from_agent": "ann", "to_agent": "bob", "task": "Review"});
        let mut rehearsed = args.clone();
        rehearsed["dry_run"] = json!(true);
        let told = team.call("request_collaboration", rehearsed).await.unwrap();
        assert_eq!(told["message"], "Would ask bob to collaborate with ann");
        let asked = team.call("request_collaboration", args).await.unwrap();
        let id = asked["request_id"].as_i64().unwrap();
        assert_eq!(asked, json!({"success": true, "request_id": id}));
        let read = team.call("agents_collaborations", json!({"to_agent": "bob"})).await.unwrap();
        let expected = json!([{"id": id, "from_agent": "ann", "to_agent": "bob", "task": "Review", "priority": "medium",
            "status": "pending", "note": null, "created_at": team.now(), "answered_at": null}]);
        assert_eq!(read["collaborations"], expected);
        let oneself = json!({"from_agent": "ann", "to_agent": "ann", "task": "x"});
        assert_eq!(team.call("request_collaboration", oneself).await.unwrap_err().kind, Kind::Invalid);
    }
}
