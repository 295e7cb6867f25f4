//! `agents_check_conflicts`: find agents that work on the same thing, and store what was found.
//!
//! A conflict that is open already is not stored again. Resolving one does not end its cause: while both agents go on, the
//! next check finds it again.

use std::collections::BTreeSet;

use mainstay_store::DetectedConflict;

use super::conflict_detection;
use super::conflicts::ConflictEntry;
use super::prelude::*;

/// Each agent costs up to 25 queries of activities.
const MAX_AGENTS: usize = 50;

/// What one call stores in one transaction, and returns in one reply.
const MAX_CONFLICTS: usize = 1000;

pub(crate) struct CheckConflicts(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Names of the agents to compare.
    #[schemars(length(min = 2))]
    agents: Vec<String>,
    /// Store nothing; report what was found.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Whether there are any.
    conflicts: bool,
    count: usize,
    list: Vec<ConflictEntry>,
}

impl Tool for CheckConflicts {
    const SPEC: Spec = Spec {
        title: "Check Conflicts",
        description: "Check for conflicts between agents. Compares their unfinished activities of the last 24 hours, the \
                      components they own and their current tasks: two on one component or one route (medium), two \
                      changes of one table (high), a change of a table against its removal or an edit of a file against \
                      its deletion (critical). What an activity works on is read from its details: component(s), \
                      route(s), table(s) and file(s) with an operation. agents_conflicts lists what was found, and \
                      agents_resolve_conflict closes it.",
        dry_run: true,
        idempotent: true,
        spellings: &[Spelling { dialect: "agents", name: "check_conflicts" }],
        ..spec("check_conflicts", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let agents =
            args.agents.into_iter().map(|agent| validation::name("agents", agent)).collect::<Result<BTreeSet<_>>>()?;
        if !(2..=MAX_AGENTS).contains(&agents.len()) {
            let message = format!("agents names {} different agents; compare 2 to {MAX_AGENTS}.", agents.len());
            return Err(Error::field("agents", message));
        }
        let now_ms = context.clock.now_ms();
        let found = conflict_detection::find(&self.0, &agents, now_ms).await?;
        let count = found.len();
        if count > MAX_CONFLICTS {
            let message = format!("There are {count} conflicts; compare fewer agents at once.");
            return Err(Error::new(Kind::TooLarge, message));
        }
        // Without a transaction if there is nothing to store: most checks find nothing.
        let new = if found.is_empty() {
            0
        } else {
            self.0.agents().add_conflicts(found.clone(), now_ms, write_mode(args.dry_run)).await?
        };
        let would = || {
            let noun = if count == 1 { "conflict" } else { "conflicts" };
            format!("report {count} {noun} and store {new} of them{}", summary(&found))
        };
        let list = found.iter().cloned().map(ConflictEntry::from).collect();
        let done = Output { conflicts: count > 0, count, list };
        Ok(WriteReply::new(args.dry_run, would, done))
    }
}

/// The first few conflicts, for the reply of a dry run: it has nothing but its message.
fn summary(found: &[DetectedConflict]) -> String {
    const SHOWN: usize = 10;
    let describe = |conflict: &DetectedConflict| {
        format!("{} {} ({}: {})", conflict.kind, conflict.component, conflict.severity, conflict.agents.join(", "))
    };
    let shown: Vec<String> = found.iter().take(SHOWN).map(describe).collect();
    match shown.as_slice() {
        [] => String::new(),
        shown if found.len() > SHOWN => format!(": {}; …", shown.join("; ")),
        shown => format!(": {}", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::{Value, json};

    async fn check(team: &Team, agents: &[&str]) -> Vec<Value> {
        let out = team.call("check_conflicts", json!({ "agents": agents })).await.unwrap();
        let list = out["list"].as_array().unwrap().clone();
        assert_eq!((&out["success"], &out["conflicts"]), (&json!(true), &json!(!list.is_empty())));
        assert_eq!(out["count"], list.len());
        list
    }

    fn conflict(component: &str, kind: &str, severity: &str, agents: &[&str]) -> Value {
        json!({"component": component, "kind": kind, "severity": severity, "agents": agents})
    }

    #[tokio::test]
    async fn each_kind_of_conflict_is_found_with_its_severity() {
        for (ann, bob, expected) in [
            (json!({"component": "api"}), json!({"components": ["web", "api"]}), Some(("api", "component", "medium"))),
            (json!({"component": "api"}), json!({"component": "web"}), None),
            (json!({"route": "GET /u"}), json!({"route": "get /u/"}), Some(("GET /u", "route", "medium"))),
            (json!({"route": "GET /u"}), json!({"route": "/u"}), Some(("GET /u", "route", "medium"))),
            (json!({"route": "/u"}), json!({"route": "/u"}), Some(("/u", "route", "medium"))),
            (json!({"route": "GET /u"}), json!({"route": "POST /u"}), None),
            (json!({"table": "t"}), json!({"table": "t", "operation": "alter"}), Some(("t", "schema", "high"))),
            (json!({"table": "t"}), json!({"table": "t", "operation": "drop"}), Some(("t", "schema", "critical"))),
            (
                json!({"table": "t", "operation": "drop"}),
                json!({"table": "t", "operation": "drop"}),
                Some(("t", "schema", "high")),
            ),
            (json!({"table": "t"}), json!({"table": "t", "operation": "select"}), None),
            (
                json!({"file": "a/b"}),
                json!({"file": "./a/b", "operation": "delete"}),
                Some(("a/b", "file", "critical")),
            ),
            (json!({"file": "a/b"}), json!({"file": "a/", "operation": "remove"}), Some(("a/b", "file", "critical"))),
            (json!({"file": "ab"}), json!({"file": "a", "operation": "delete"}), None),
            (json!({"file": "a"}), json!({"file": "a", "operation": "edit"}), None),
            (json!({"file": "a", "operation": "move"}), json!({"file": "a", "operation": "delete"}), None),
        ] {
            let team = Team::new().await;
            team.start_activity("ann", ann.clone()).await;
            team.start_activity("bob", bob.clone()).await;
            let expected: Vec<Value> =
                expected.iter().map(|(what, kind, how)| conflict(what, kind, how, &["ann", "bob"])).collect();
            assert_eq!(check(&team, &["bob", "ann"]).await, expected, "{ann} {bob}");
        }
    }

    #[tokio::test]
    async fn owner_and_worker_of_a_component_conflict() {
        let team = Team::new().await;
        team.call("register_component", json!({"name": "auth-service", "owner": "ann"})).await.unwrap();
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
        let task = json!({"agent": "bob", "status": "busy", "current_task": "Refactor (auth-service), then rest"});
        team.call("update_status", task).await.unwrap();
        assert_eq!(
            check(&team, &["ann", "bob"]).await,
            [conflict("auth-service", "component", "medium", &["ann", "bob"])]
        );
        team.start_activity("cid", json!({"component": "auth-service"})).await;
        assert_eq!(
            check(&team, &["bob", "cid"]).await,
            [conflict("auth-service", "component", "medium", &["bob", "cid"])]
        );
        assert_eq!(check(&team, &["ann", "bob", "cid"]).await[0]["agents"], json!(["ann", "bob", "cid"]));
        team.call("register_component", json!({"name": "auth-service", "owner": "ann", "status": "inactive"}))
            .await
            .unwrap();
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
    }

    #[tokio::test]
    async fn finished_or_old_activities_do_not_conflict() {
        let team = Team::new().await;
        team.start_activity("ann", json!({"table": "t"})).await;
        team.start_activity("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
        let ended = json!({"agent": "bob", "activity": "work", "category": "task", "status": "failed"});
        team.call("log_activity", ended).await.unwrap();
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
        // Begun anew, it is under way again.
        team.start_activity("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
        team.advance_seconds(24 * 3600 + 1);
        team.start_activity("ann", json!({"table": "t"})).await;
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
    }

    #[tokio::test]
    async fn old_activity_behind_many_pages_is_found() {
        let team = Team::new().await;
        team.start_activity("ann", json!({"table": "t"})).await;
        for _ in 0..450 {
            team.call("log_activity", json!({"agent": "ann", "activity": "x", "category": "task"})).await.unwrap();
        }
        team.start_activity("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
    }

    #[tokio::test]
    async fn conflict_is_stored_once_and_dry_run_stores_none() {
        let team = Team::new().await;
        team.start_activity("ann", json!({"table": "t"})).await;
        team.start_activity("bob", json!({"table": "t"})).await;
        let args = json!({"agents": ["ann", "bob"], "dry_run": true});
        let reply = team.call("check_conflicts", args.clone()).await.unwrap();
        let expected = "Would report 1 conflict and store 1 of them: schema t (high: ann, bob)";
        assert_eq!(reply, json!({"success": true, "dry_run": true, "message": expected}));
        let stored =
            async || team.call("agents_conflicts", json!({})).await.unwrap()["conflicts"].as_array().unwrap().len();
        assert_eq!(stored().await, 0);
        check(&team, &["ann", "bob"]).await;
        check(&team, &["ann", "bob"]).await;
        assert_eq!(stored().await, 1);
        assert!(
            team.call("check_conflicts", args).await.unwrap()["message"].as_str().unwrap().contains("store 0 of them")
        );
    }

    #[tokio::test]
    async fn fewer_than_2_or_more_than_50_agents_are_rejected() {
        let team = Team::new().await;
        let many: Vec<String> = (0..51).map(|number| number.to_string()).collect();
        for agents in [json!([]), json!(["ann"]), json!(["ann", "ann"]), json!(["ann", ""]), json!(many)] {
            let refused = team.call("check_conflicts", json!({ "agents": agents })).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid, "{agents}");
        }
    }
}
