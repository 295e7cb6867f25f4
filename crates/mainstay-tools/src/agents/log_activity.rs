//! `agents_log_activity`: record what an agent does.
//!
//! The most frequent call of the family; the store groups concurrent ones into one commit.

use mainstay_store::Activity;

use super::prelude::*;

pub(crate) struct LogActivity(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the agent.
    agent: String,
    /// What the agent does. Log the same text again to update the activity's status.
    activity: String,
    /// Category of the activity.
    category: ActivityCategory,
    /// Status of the activity. Default: in_progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ActivityStatus")]
    status: Option<ActivityStatus>,
    /// Any further data. For conflict checks: component(s), route(s), table(s) or file(s), and operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    details: Option<Map<String, Value>>,
    /// Store nothing; report what would be stored.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Id of the activity; ids of one agent increase.
    id: i64,
    message: String,
}

impl Tool for LogActivity {
    const SPEC: Spec = Spec {
        title: "Log Activity",
        description: "Log an activity for an agent. Others see it in agents_activities, and agents_check_conflicts \
                      compares what its details name: {\"component\": \"auth\"}, {\"route\": \"POST /login\"}, \
                      {\"table\": \"users\", \"operation\": \"drop\"}, {\"files\": [\"a.rs\"], \"operation\": \"edit\"}. \
                      Log the same activity with status completed or failed when it has ended.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "log_activity" }],
        ..spec("log_activity", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let activity = Activity {
            id: 0,
            agent: agent.clone(),
            activity: validation::text("activity", args.activity)?,
            category: wire_name(args.category),
            status: args.status.map(wire_name),
            details: validation::object_json("details", args.details)?,
            at_ms: context.clock.now_ms(),
        };
        let id = self.0.agents().log(activity, write_mode(args.dry_run)).await?;
        let done = Output { id, message: "Activity logged successfully".into() };
        Ok(WriteReply::new(args.dry_run, || format!("log an activity of {agent}"), done))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use super::*;
    use mainstay_core::{Kind, erase};
    use serde_json::json;

    #[tokio::test]
    async fn input_schema_is_the_contracts_plus_details_and_dry_run() {
        let team = Team::new().await;
        let tool = erase(LogActivity(team.tools()));
        let mut schema = Value::Object((*tool.info().input_schema).clone());
        for property in schema["properties"].as_object_mut().unwrap().values_mut() {
            property.as_object_mut().unwrap().remove("description");
        }
        let expected = json!({
            "type": "object",
            "properties": {
                "agent": {"type": "string"},
                "activity": {"type": "string"},
                "category": {"type": "string", "enum": ["task", "communication", "decision", "error"]},
                "status": {"type": "string", "enum": ["started", "in_progress", "completed", "failed"]},
                "details": {"type": "object", "additionalProperties": true},
                "dry_run": {"type": "boolean", "default": false},
            },
            "required": ["agent", "activity", "category"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }

    #[tokio::test]
    async fn activity_is_stored_with_an_increasing_id() {
        let team = Team::new().await;
        let args = json!({"agent": "ann", "activity": "Build", "category": "task", "details": {"component": "api"}});
        let first = team.call("log_activity", args.clone()).await.unwrap();
        let id = first["id"].as_i64().unwrap();
        assert_eq!(first, json!({"success": true, "id": id, "message": "Activity logged successfully"}));
        assert!(team.call("log_activity", args).await.unwrap()["id"].as_i64().unwrap() > id);
        let read = team.call("agents_activities", json!({})).await.unwrap();
        assert_eq!(read["activities"][1]["details"], json!({"component": "api"}));
    }

    #[tokio::test]
    async fn dry_run_validates_and_stores_nothing() {
        let team = Team::new().await;
        let args = json!({"agent": "ann", "activity": "Build", "category": "task", "dry_run": true});
        let reply = team.call("log_activity", args).await.unwrap();
        assert_eq!(reply, json!({"success": true, "dry_run": true, "message": "Would log an activity of ann"}));
        assert_eq!(team.call("agents_list", json!({})).await.unwrap()["agents"], json!([]));
        let empty = json!({"agent": "ann", "activity": "", "category": "task", "dry_run": true});
        assert_eq!(team.call("log_activity", empty).await.unwrap_err().kind, Kind::Invalid);
    }

    #[tokio::test]
    async fn values_outside_the_contract_are_rejected() {
        let team = Team::new().await;
        let good = json!({"agent": "ann", "activity": "x", "category": "task"});
        for (field, value) in
            [("category", json!("x")), ("status", json!("done")), ("status", json!(null)), ("more", json!(1))]
        {
            let mut args = good.clone();
            args[field] = value;
            assert_eq!(team.call("log_activity", args).await.unwrap_err().kind, Kind::Invalid, "{field}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn concurrent_logging_by_32_agents_loses_nothing_and_ids_increase_per_agent() {
        let team = std::sync::Arc::new(Team::new().await);
        let loggers = (0..32).map(|number| {
            let team = team.clone();
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for nth in 0..20 {
                    let args = json!({"agent": format!("a{number}"), "activity": nth.to_string(), "category": "task"});
                    ids.push(team.call("log_activity", args).await.unwrap()["id"].as_i64().unwrap());
                }
                (number, ids)
            })
        });
        for logger in loggers.collect::<Vec<_>>() {
            let (number, ids) = logger.await.unwrap();
            let read = team.call("agents_activities", json!({"agent": format!("a{number}")})).await.unwrap();
            let read = read["activities"].as_array().unwrap();
            let stored: Vec<_> =
                read.iter().rev().map(|row| (row["id"].as_i64().unwrap(), row["activity"].clone())).collect();
            let reply: Vec<_> = ids.into_iter().zip((0..20).map(|nth: i32| json!(nth.to_string()))).collect();
            assert_eq!(stored, reply);
        }
    }
}
