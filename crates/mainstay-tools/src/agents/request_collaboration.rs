//! `agents_request_collaboration`: ask another agent to take part in a task. Nobody is notified; the agent that is asked
//! polls `agents_collaborations`.

use mainstay_store::NewCollaboration;

use super::prelude::*;

pub(crate) struct RequestCollaboration(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the agent that asks.
    from_agent: String,
    /// Name of the agent that is asked.
    to_agent: String,
    /// What is to be done.
    task: String,
    /// Priority of the request. Default: medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Priority")]
    priority: Option<Priority>,
    /// Store nothing; report what would be requested.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Id of the request.
    request_id: i64,
}

impl Tool for RequestCollaboration {
    const SPEC: Spec = Spec {
        title: "Request Collaboration",
        description: "Ask another agent to take part in a task. That agent finds the request in agents_collaborations and \
                      answers it with agents_answer_collaboration.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "request_collaboration" }],
        ..spec("request_collaboration", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let from_agent = validation::name("from_agent", args.from_agent)?;
        let to_agent = validation::name("to_agent", args.to_agent)?;
        if from_agent == to_agent {
            let message = format!("from_agent and to_agent are both {to_agent:?}; ask another agent.");
            return Err(Error::field("to_agent", message));
        }
        let would = format!("ask {to_agent} to collaborate with {from_agent}");
        let request = NewCollaboration {
            from_agent,
            to_agent,
            task: validation::text("task", args.task)?,
            priority: wire_name(args.priority.unwrap_or(Priority::Medium)),
            now_ms: context.clock.now_ms(),
        };
        let request_id = self.0.agents().request(request, write_mode(args.dry_run)).await?;
        Ok(WriteReply::new(args.dry_run, || would, Output { request_id }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn request_is_listed_for_its_receiver_and_an_agent_cannot_ask_itself() {
        let team = Team::new().await;
        let args = json!({"from_agent": "ann", "to_agent": "bob", "task": "Review"});
        let mut dry_run_args = args.clone();
        dry_run_args["dry_run"] = json!(true);
        let reply = team.call("request_collaboration", dry_run_args).await.unwrap();
        assert_eq!(reply["message"], "Would ask bob to collaborate with ann");
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
