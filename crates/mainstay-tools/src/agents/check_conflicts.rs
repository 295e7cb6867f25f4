//! `check_conflicts`: do agents get in each other's way?

use std::collections::BTreeSet;

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::DetectedConflict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::types::dry_run::{Answer, intent};
use super::types::validation;
use super::{Desk, conflict_detection};

const MOST_AGENTS: usize = 50;
const MOST_CONFLICTS: usize = 1000;

pub(crate) struct CheckConflicts(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The agents to compare, by name.
    #[schemars(length(min = 2))]
    agents: Vec<String>,
    /// Store nothing; say what was found.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// Whether there are any.
    conflicts: bool,
    count: usize,
    list: Vec<Entry>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// What is in dispute: a component, a route, a table or a file.
    component: String,
    /// component, route, schema or file.
    kind: String,
    /// medium, high or critical.
    severity: String,
    agents: Vec<String>,
}

impl From<DetectedConflict> for Entry {
    fn from(dispute: DetectedConflict) -> Self {
        let DetectedConflict { component, kind, severity, agents } = dispute;
        Self { component, kind, severity, agents }
    }
}

impl Tool for CheckConflicts {
    const SPEC: Spec = Spec {
        title: "Check Conflicts",
        description: "Check for conflicts between agents. Compared are their activities under way (neither completed \
                      nor failed, of the last 24 hours), the components they own and their current tasks: two on one \
                      component or on one route (medium), two changes of one table (high), a change of a table against \
                      its removal or an edit of a file against its deletion (critical). What an activity touches is read \
                      from its details: component(s), route(s), table(s) and file(s) with an operation. What is found \
                      is kept in agents_conflicts.",
        pace: Pace::Instant,
        dry_run: true,
        idempotent: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "check_conflicts" }],
        ..Spec::new("agents", "check_conflicts", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let agents =
            args.agents.into_iter().map(|agent| validation::name("agents", agent)).collect::<Result<BTreeSet<_>>>()?;
        if !(2..=MOST_AGENTS).contains(&agents.len()) {
            let told = format!("agents names {} different agents; compare 2 to {MOST_AGENTS}.", agents.len());
            return Err(Error::field("agents", told));
        }
        let (intent, now_ms) = (intent(args.dry_run), context.clock.now_ms());
        let found = conflict_detection::find(&self.0, &agents, now_ms).await?;
        if found.len() > MOST_CONFLICTS {
            let told = format!("There are {} conflicts; compare fewer agents at once.", found.len());
            return Err(Error::new(Kind::TooLarge, told));
        }
        let fresh =
            if found.is_empty() { 0 } else { self.0.agents().add_conflicts(found.clone(), now_ms, intent).await? };
        Ok(Answer::new(
            intent,
            || format!("report {} and store {fresh} of them{}", counted(found.len()), named(&found)),
            || Output {
                success: true,
                conflicts: !found.is_empty(),
                count: found.len(),
                list: found.iter().cloned().map(Entry::from).collect(),
            },
        ))
    }
}

fn counted(conflicts: usize) -> String {
    if conflicts == 1 { "1 conflict".into() } else { format!("{conflicts} conflicts") }
}

/// A rehearsal has only its message to say what was found; the first few do.
fn named(found: &[DetectedConflict]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = found
        .iter()
        .take(SHOWN)
        .map(|dispute| {
            format!("{} {} ({}: {})", dispute.kind, dispute.component, dispute.severity, dispute.agents.join(", "))
        })
        .collect();
    match shown.as_slice() {
        [] => String::new(),
        shown if found.len() > SHOWN => format!(": {}; …", shown.join("; ")),
        shown => format!(": {}", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
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
    async fn each_of_the_four_kinds_is_found_with_its_severity() {
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
            team.touches("ann", ann.clone()).await;
            team.touches("bob", bob.clone()).await;
            let expected: Vec<Value> =
                expected.iter().map(|(what, kind, how)| conflict(what, kind, how, &["ann", "bob"])).collect();
            assert_eq!(check(&team, &["bob", "ann"]).await, expected, "{ann} {bob}");
        }
    }

    #[tokio::test]
    async fn an_owner_and_whoever_works_on_the_component_are_in_conflict() {
        let team = Team::new().await;
        team.call("register_component", json!({"name": "auth-service", "owner": "ann"})).await.unwrap();
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
        let task = json!({"agent": "bob", "status": "busy", "current_task": "Refactor (auth-service), then rest"});
        team.call("update_status", task).await.unwrap();
        assert_eq!(
            check(&team, &["ann", "bob"]).await,
            [conflict("auth-service", "component", "medium", &["ann", "bob"])]
        );
        team.touches("cid", json!({"component": "auth-service"})).await;
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
    async fn what_has_ended_or_is_too_old_is_no_conflict() {
        let team = Team::new().await;
        team.touches("ann", json!({"table": "t"})).await;
        team.touches("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
        let ended = json!({"agent": "bob", "activity": "work", "category": "task", "status": "failed"});
        team.call("log_activity", ended).await.unwrap();
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
        // Begun anew, it is under way again.
        team.touches("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
        team.wait_seconds(24 * 3600 + 1);
        team.touches("ann", json!({"table": "t"})).await;
        assert!(check(&team, &["ann", "bob"]).await.is_empty());
    }

    #[tokio::test]
    async fn an_old_activity_behind_many_pages_is_still_found() {
        let team = Team::new().await;
        team.touches("ann", json!({"table": "t"})).await;
        for _ in 0..450 {
            team.call("log_activity", json!({"agent": "ann", "activity": "x", "category": "task"})).await.unwrap();
        }
        team.touches("bob", json!({"table": "t"})).await;
        assert_eq!(check(&team, &["ann", "bob"]).await.len(), 1);
    }

    #[tokio::test]
    async fn a_conflict_is_stored_once_and_a_rehearsal_stores_none() {
        let team = Team::new().await;
        team.touches("ann", json!({"table": "t"})).await;
        team.touches("bob", json!({"table": "t"})).await;
        let args = json!({"agents": ["ann", "bob"], "dry_run": true});
        let told = team.call("check_conflicts", args.clone()).await.unwrap();
        let expected = "Would report 1 conflict and store 1 of them: schema t (high: ann, bob)";
        assert_eq!(told, json!({"success": true, "dry_run": true, "message": expected}));
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
    async fn fewer_than_two_agents_cannot_be_compared() {
        let team = Team::new().await;
        let many: Vec<String> = (0..51).map(|number| number.to_string()).collect();
        for agents in [json!([]), json!(["ann"]), json!(["ann", "ann"]), json!(["ann", ""]), json!(many)] {
            let refused = team.call("check_conflicts", json!({ "agents": agents })).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid, "{agents}");
        }
    }
}
