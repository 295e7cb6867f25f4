//! `agents_delete_all_data`: delete everything that the family has stored.
//!
//! It is in no list, needs the scope `admin`, and, as it destroys, a person's consent. Ids are not used again afterwards.

use std::collections::BTreeMap;

use mainstay_core::{Pace, Scope};

use super::prelude::*;

pub(crate) struct DeleteAllData(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Delete nothing; report how many rows would be deleted.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Number of rows deleted from each table.
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
        spellings: &[Spelling { dialect: "agents", name: "delete_all_data" }],
        ..spec("delete_all_data", Effect::Destroys)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, _context: &Context) -> Result<WriteReply<Output>> {
        let deleted = self.0.agents().delete_all(write_mode(args.dry_run)).await?;
        let rows: Vec<String> = deleted.iter().map(|(table, rows)| format!("{table} {rows}")).collect();
        let would = format!("delete {} rows: {}", deleted.values().sum::<u64>(), rows.join(", "));
        Ok(WriteReply::new(args.dry_run, || would, Output { deleted }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn dry_run_counts_the_rows_and_the_call_deletes_them() {
        let team = Team::new().await;
        team.call("log_activity", json!({"agent": "ann", "activity": "x", "category": "task"})).await.unwrap();
        let reply = team.call("delete_all_data", json!({"dry_run": true})).await.unwrap();
        let expected = "Would delete 2 rows: activities 1, agent_states 1, collaborations 0, components 0, \
                        conflicts 0, decisions 0";
        assert_eq!(reply, json!({"success": true, "dry_run": true, "message": expected}));
        let done = team.call("delete_all_data", json!({})).await.unwrap();
        assert_eq!((&done["success"], &done["deleted"]["activities"]), (&json!(true), &json!(1)));
        assert_eq!(team.call("agents_activities", json!({})).await.unwrap()["activities"], json!([]));
    }
}
