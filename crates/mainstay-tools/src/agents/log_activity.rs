//! `log_activity`: what an agent does.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::NewActivity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::enums::{Category, Stage, stored};
use super::types::validation;

pub(crate) struct LogActivity(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Who does it.
    agent: String,
    /// What is done. The same words again say how it went on.
    activity: String,
    category: Category,
    /// How it stands; without it, it counts as under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stage")]
    status: Option<Stage>,
    /// Anything more. What is touched is said by component(s), route(s), table(s) or file(s), and operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    details: Option<Map<String, Value>>,
    /// Store nothing; say what would be stored.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The activity's number; an agent's numbers rise.
    id: i64,
    message: String,
}

impl Tool for LogActivity {
    const SPEC: Spec = Spec {
        title: "Log Activity",
        description: "Log an activity for an agent. Others see it in agents_activities, and agents_check_conflicts \
                      compares what its details say is touched: {\"component\": \"auth\"}, {\"route\": \"POST /login\"}, \
                      {\"table\": \"users\", \"operation\": \"drop\"}, {\"files\": [\"a.rs\"], \"operation\": \"edit\"}. \
                      Log the same activity with status completed or failed when it has ended.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "log_activity" }],
        ..Spec::new("agents", "log_activity", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agent = validation::name("agent", args.agent)?;
        let activity = NewActivity {
            agent: agent.clone(),
            activity: validation::text("activity", args.activity)?,
            category: stored(args.category),
            status: args.status.map(stored),
            details: validation::object("details", args.details)?,
            now_ms: context.clock.now_ms(),
        };
        let intent = intent(args.dry_run);
        let id = self.0.agents().log(activity, intent).await?;
        Ok(Answer::new(
            intent,
            || format!("log an activity of {agent}"),
            || Output { success: true, id, message: "Activity logged successfully".into() },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::testing::Team;
    use mainstay_core::{Kind, erase};
    use serde_json::json;

    #[tokio::test]
    async fn the_schema_is_the_contracts_with_details() {
        let team = Team::new().await;
        let tool = erase(LogActivity(team.desk())).unwrap();
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
    async fn an_activity_is_stored_and_numbered() {
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
    async fn a_rehearsal_checks_the_same_and_stores_nothing() {
        let team = Team::new().await;
        let args = json!({"agent": "ann", "activity": "Build", "category": "task", "dry_run": true});
        let told = team.call("log_activity", args).await.unwrap();
        assert_eq!(told, json!({"success": true, "dry_run": true, "message": "Would log an activity of ann"}));
        assert_eq!(team.call("agents_list", json!({})).await.unwrap()["agents"], json!([]));
        let empty = json!({"agent": "ann", "activity": "", "category": "task", "dry_run": true});
        assert_eq!(team.call("log_activity", empty).await.unwrap_err().kind, Kind::Invalid);
    }

    #[tokio::test]
    async fn what_the_contract_does_not_know_is_refused() {
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
    async fn of_32_who_log_at_once_nothing_is_lost_and_each_ones_numbers_rise() {
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
            let told: Vec<_> = ids.into_iter().zip((0..20).map(|nth: i32| json!(nth.to_string()))).collect();
            assert_eq!(stored, told);
        }
    }
}
