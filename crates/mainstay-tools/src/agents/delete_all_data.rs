//! `delete_all_data`: everything the team has told each other is to go.

use std::collections::BTreeMap;

use mainstay_core::{Context, Effect, Pace, Result, Scope, Spec, Spelling, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};

pub(crate) struct DeleteAllData(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Delete nothing; say how much would be deleted.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// How many rows of each table were deleted.
    deleted: BTreeMap<String, u64>,
}

impl Tool for DeleteAllData {
    const SPEC: Spec = Spec {
        title: "Delete All Data",
        description: "Delete all coordination data of the team. Activities, agents, components, conflicts, \
                      collaborations and decisions are removed; the audit, consents and clients stay.",
        pace: Pace::Quick,
        dry_run: true,
        idempotent: true,
        scope: Some(Scope::Admin),
        unlisted: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "delete_all_data" }],
        ..Spec::new("agents", "delete_all_data", Effect::Destroys)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, _context: &Context) -> Result<Answer<Output>> {
        let intent = intent(args.dry_run);
        let deleted = self.0.agents().delete_all(intent).await?;
        Ok(Answer::new(
            intent,
            || {
                let rows: Vec<String> = deleted.iter().map(|(table, rows)| format!("{table} {rows}")).collect();
                format!("delete {} rows: {}", deleted.values().sum::<u64>(), rows.join(", "))
            },
            || Output { success: true, deleted: deleted.clone() },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn everything_is_counted_first_if_asked_and_then_gone() {
        let team = Team::new().await;
        team.call("log_activity", json!({"agent": "ann", "activity": "x", "category": "task"})).await.unwrap();
        let told = team.call("delete_all_data", json!({"dry_run": true})).await.unwrap();
        let expected = "Would delete 2 rows: activities 1, agent_states 1, collaborations 0, components 0, \
                        conflicts 0, decisions 0";
        assert_eq!(told, json!({"success": true, "dry_run": true, "message": expected}));
        let done = team.call("delete_all_data", json!({})).await.unwrap();
        assert_eq!((&done["success"], &done["deleted"]["activities"]), (&json!(true), &json!(1)));
        assert_eq!(team.call("agents_activities", json!({})).await.unwrap()["activities"], json!([]));
    }
}
