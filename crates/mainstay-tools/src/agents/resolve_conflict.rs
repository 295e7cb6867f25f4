//! `agents_resolve_conflict`: mark a conflict as resolved. A second time is an error, so that nobody overwrites a note.

use super::conflicts::Entry;
use super::prelude::*;

pub(crate) struct ResolveConflict(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Id of the conflict, from agents_conflicts.
    id: i64,
    /// How it was resolved.
    resolution: Option<String>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The conflict after the change.
    conflict: Entry,
}

impl Tool for ResolveConflict {
    const SPEC: Spec = Spec {
        title: "Resolve Conflict",
        description: "Mark a conflict as resolved, with an optional note. If the agents still work on the same thing, the \
                      next agents_check_conflicts finds it again.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "resolve_conflict" }],
        ..spec("resolve_conflict", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let resolution = validation::optional_text("resolution", args.resolution)?;
        let (id, write_mode) = (args.id, write_mode(args.dry_run));
        let changed = self.0.agents().resolve_conflict(id, resolution, context.clock.now_ms(), write_mode).await?;
        let conflict = updated_row(changed, ("conflict", id), |conflict| {
            let when = conflict.resolved_ms.map(iso8601).unwrap_or_default();
            Error::new(Kind::Conflict, format!("Conflict {id} was already resolved, at {when}."))
        })?;
        // What the conflict is about comes from the row: the caller gave an id only.
        let would = format!("resolve conflict {id} about {}", conflict.detected.component);
        Ok(WriteReply::new(args.dry_run, || would, Output { conflict: conflict.into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn conflict_is_resolved_once_and_then_only_in_the_full_list() {
        let team = Team::new().await;
        team.start_activity("ann", json!({"table": "users"})).await;
        team.start_activity("bob", json!({"table": "users"})).await;
        team.call("check_conflicts", json!({"agents": ["ann", "bob"]})).await.unwrap();
        let open = async |all: bool| {
            team.call("agents_conflicts", json!({"all": all})).await.unwrap()["conflicts"].as_array().unwrap().clone()
        };
        let id = open(false).await[0]["id"].clone();
        let resolve = async |args| team.call("agents_resolve_conflict", args).await;
        let reply = resolve(json!({"id": id, "dry_run": true})).await.unwrap();
        assert_eq!(reply["message"], format!("Would resolve conflict {id} about users"));
        assert_eq!(open(false).await.len(), 1);
        let resolved = resolve(json!({"id": id, "resolution": "ann waits"})).await.unwrap();
        let expected = json!({"id": id, "component": "users", "kind": "schema", "severity": "high",
            "agents": ["ann", "bob"], "resolved": true, "resolution": "ann waits",
            "created_at": team.now(), "resolved_at": team.now()});
        assert_eq!(resolved, json!({"success": true, "conflict": expected}));
        assert_eq!((open(false).await.len(), open(true).await), (0, vec![expected]));
        assert_eq!(resolve(json!({"id": id})).await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(resolve(json!({"id": 99})).await.unwrap_err().kind, Kind::NotFound);
    }
}
