//! `agents_resolve_conflict`: a conflict is settled.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::ChangeOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::conflicts::Entry;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

pub(crate) struct ResolveConflict(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The conflict's number, from agents_conflicts.
    id: i64,
    /// How it was settled.
    #[serde(default)]
    resolution: Option<String>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The conflict as it is now.
    conflict: Entry,
}

impl Tool for ResolveConflict {
    const SPEC: Spec = Spec {
        title: "Resolve Conflict",
        description: "Marks a conflict as resolved, with a word on how. If agents still touch the same thing, the \
                      next agents_check_conflicts finds it again.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        ..Spec::new("agents", "resolve_conflict", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let resolution = validation::maybe_text("resolution", args.resolution)?;
        let (id, intent) = (args.id, intent(args.dry_run));
        match self.0.agents().resolve_conflict(id, resolution, context.clock.now_ms(), intent).await? {
            ChangeOutcome::Done(conflict) => Ok(Answer::new(
                intent,
                || format!("resolve conflict {id} about {}", conflict.detected.component),
                || Output { success: true, conflict: conflict.clone().into() },
            )),
            ChangeOutcome::Rejected(conflict) => {
                let when = conflict.resolved_ms.map(iso8601).unwrap_or_default();
                Err(Error::new(Kind::Conflict, format!("Conflict {id} was resolved already, at {when}.")))
            }
            ChangeOutcome::NotFound => {
                Err(Error::not_found(format!("There is no conflict {id}; agents_conflicts lists those there are.")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn a_conflict_is_resolved_once_and_then_in_the_full_list_alone() {
        let team = Team::new().await;
        team.touches("ann", json!({"table": "users"})).await;
        team.touches("bob", json!({"table": "users"})).await;
        team.call("check_conflicts", json!({"agents": ["ann", "bob"]})).await.unwrap();
        let open = async |all: bool| {
            team.call("agents_conflicts", json!({"all": all})).await.unwrap()["conflicts"].as_array().unwrap().clone()
        };
        let id = open(false).await[0]["id"].clone();
        let resolve = async |args| team.call("agents_resolve_conflict", args).await;
        let told = resolve(json!({"id": id, "dry_run": true})).await.unwrap();
        assert_eq!(told["message"], format!("Would resolve conflict {id} about users"));
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
