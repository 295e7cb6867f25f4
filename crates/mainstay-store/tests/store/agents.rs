use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_store::{
    Activity, ActivityQuery, ChangeOutcome, CollaborationQuery, ComponentQuery, DetectedConflict, NewCollaboration,
    NewComponent, NewProposal, Registration, Store, Vote, WriteMode,
};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    activities_are_listed_unchanged_and_newest_first,
    activities_are_found_by_any_set_of_filters,
    concurrent_activities_are_all_stored_with_rising_numbers,
    every_change_updates_when_its_agent_was_last_seen_and_never_backwards,
    setting_a_state_sets_status_and_task,
    active_agents_are_counted_among_all,
    names_are_in_the_same_order_on_every_engine,
    an_active_component_stays_with_its_owner_until_the_owner_changes_it,
    of_many_registrations_of_one_component_one_succeeds,
    components_are_found_by_owner_and_status,
    an_open_conflict_is_stored_once_and_a_resolved_one_may_come_back,
    a_request_is_answered_by_its_recipient_and_completed_once,
    requests_are_found_by_any_set_of_filters,
    each_agent_has_one_vote_until_the_decision_is_resolved,
    a_dry_run_returns_the_result_and_changes_nothing,
    deleting_everything_counts_each_table_and_reuses_no_number,
    the_schema_is_described_as_the_database_has_it,
];

fn activity(agent: &str, activity: &str, status: Option<&str>) -> Activity {
    Activity {
        id: 0,
        agent: agent.into(),
        activity: activity.into(),
        category: "task".into(),
        status: status.map(Into::into),
        details: None,
        at_ms: 1000,
    }
}

async fn log(store: &Store, new: Activity) -> i64 {
    store.agents().log(new, WriteMode::Commit).await.unwrap()
}

async fn found(store: &Store, query: ActivityQuery) -> Vec<i64> {
    let limit = query.limit.max(100);
    let query = ActivityQuery { limit, ..query };
    let count = store.agents().count_activities(query.clone()).await.unwrap();
    let ids: Vec<i64> = store.agents().activities(query).await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(count, i64::try_from(ids.len()).unwrap());
    ids
}

async fn activities_are_listed_unchanged_and_newest_first(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let full = Activity { details: Some(r#"{"a":"\u0000"}"#.into()), ..activity("ann", "é\n'", Some("started")) };
    let first = log(&store, full).await;
    let second = log(&store, activity("ann", "x", None)).await;
    assert!(second > first);
    let query = ActivityQuery { limit: 10, ..ActivityQuery::default() };
    let rows = store.agents().activities(query).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [second, first]);
    let whole = Activity {
        id: first,
        agent: "ann".into(),
        at_ms: 1000,
        activity: "é\n'".into(),
        category: "task".into(),
        status: Some("started".into()),
        details: Some(r#"{"a":"\u0000"}"#.into()),
    };
    assert_eq!(rows[1], whole);
}

async fn activities_are_found_by_any_set_of_filters(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut rows = Vec::new();
    for agent in ["ann", "bob"] {
        for category in ["task", "error"] {
            for status in [None, Some("failed")] {
                let new = Activity { category: category.into(), ..activity(agent, "x", status) };
                rows.push((log(&store, new).await, agent, category, status));
            }
        }
    }
    for mask in 0..8_u8 {
        let wanted = |bit: u8, value: &str| (mask & bit != 0).then(|| value.to_owned());
        let query = ActivityQuery {
            agent: wanted(1, "bob"),
            category: wanted(2, "error"),
            status: wanted(4, "failed"),
            ..ActivityQuery::default()
        };
        let fits = |row: &&(i64, &str, &str, Option<&str>)| {
            query.agent.as_ref().is_none_or(|agent| agent == row.1)
                && query.category.as_ref().is_none_or(|category| category == row.2)
                && query.status.as_ref().is_none_or(|status| Some(status.as_str()) == row.3)
        };
        let expected: Vec<i64> = rows.iter().rev().filter(fits).map(|row| row.0).collect();
        assert_eq!(found(&store, query.clone()).await, expected, "{query:?}");
    }
    let (after, before) = (Some(rows[1].0), Some(rows[5].0));
    let between = found(&store, ActivityQuery { after, before, ..ActivityQuery::default() }).await;
    assert_eq!(between, [rows[4].0, rows[3].0, rows[2].0]);
}

async fn concurrent_activities_are_all_stored_with_rising_numbers(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let logged = at_once(32, |number| {
        let store = stores[number % 2].clone();
        async move {
            let agent = format!("agent-{number}");
            let mut ids = Vec::new();
            for nth in 0..50 {
                ids.push(log(&store, activity(&agent, &nth.to_string(), None)).await);
            }
            (agent, ids)
        }
    })
    .await;
    for (agent, ids) in &logged {
        assert!(ids.is_sorted_by(|a, b| a < b), "{agent}: {ids:?}");
        let query = ActivityQuery { agent: Some(agent.clone()), limit: 100, ..ActivityQuery::default() };
        let stored = stores[0].agents().activities(query).await.unwrap();
        let logged: Vec<(i64, String)> = ids.iter().copied().zip((0..50).map(|nth: i32| nth.to_string())).collect();
        let stored: Vec<(i64, String)> = stored.into_iter().rev().map(|row| (row.id, row.activity)).collect();
        assert_eq!(stored, logged, "{agent}");
    }
    assert_eq!(stores[1].agents().count_activities(ActivityQuery::default()).await.unwrap(), 32 * 50);
}

async fn every_change_updates_when_its_agent_was_last_seen_and_never_backwards(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(store.agents().state("ann").await.unwrap(), None);
    log(&store, activity("ann", "x", None)).await;
    let seen = |state: Option<mainstay_store::AgentState>| state.unwrap().last_seen_ms;
    assert_eq!(seen(store.agents().state("ann").await.unwrap()), 1000);
    store.agents().heartbeat("ann", 2000, WriteMode::Commit).await.unwrap();
    store.agents().heartbeat("ann", 1500, WriteMode::Commit).await.unwrap();
    assert_eq!(seen(store.agents().state("ann").await.unwrap()), 2000);
    let vote = Vote { choice: "yes".into(), note: None, at_ms: 1 };
    let id = store.agents().propose(proposal("bob"), WriteMode::Commit).await.unwrap();
    store.agents().vote(id, "cid", vote, 10, WriteMode::Commit).await.unwrap();
    store.agents().request(request("dan", "eve"), WriteMode::Commit).await.unwrap();
    store.agents().register(component("c", "fay", "active"), WriteMode::Commit).await.unwrap();
    let known: Vec<String> = store.agents().states("", 10).await.unwrap().into_iter().map(|s| s.agent).collect();
    assert_eq!(known, ["ann", "bob", "cid", "dan", "fay"]);
}

async fn setting_a_state_sets_status_and_task(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let state = async || {
        let state = store.agents().state("ann").await.unwrap().unwrap();
        (state.status, state.current_task, state.last_seen_ms)
    };
    store.agents().set_state("ann", "busy", Some("build".into()), 1, WriteMode::Commit).await.unwrap();
    assert_eq!(state().await, ("busy".into(), Some("build".into()), 1));
    store.agents().heartbeat("ann", 2, WriteMode::Commit).await.unwrap();
    assert_eq!(state().await, ("busy".into(), Some("build".into()), 2));
    store.agents().set_state("ann", "idle", None, 3, WriteMode::Commit).await.unwrap();
    assert_eq!(state().await, ("idle".into(), None, 3));
}

async fn active_agents_are_counted_among_all(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (agent, status, seen) in [("ann", "busy", 2), ("bob", "active", 1), ("cid", "offline", 2), ("dan", "idle", 3)] {
        store.agents().set_state(agent, status, None, seen, WriteMode::Commit).await.unwrap();
    }
    assert_eq!(store.agents().count_states(2).await.unwrap(), (4, 2));
    assert_eq!(store.agents().count_states(4).await.unwrap(), (4, 0));
}

async fn names_are_in_the_same_order_on_every_engine(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for name in ["b", "é", "A", "a", "_", "B", "a-1", "a_1"] {
        store.agents().heartbeat(name, 1, WriteMode::Commit).await.unwrap();
    }
    let mut names = Vec::<String>::new();
    loop {
        let after = names.last().cloned().unwrap_or_default();
        let page = store.agents().states(&after, 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        names.extend(page.into_iter().map(|state| state.agent));
    }
    assert_eq!(names, ["A", "B", "_", "a", "a-1", "a_1", "b", "é"]);
}

fn component(name: &str, owner: &str, status: &str) -> NewComponent {
    NewComponent { name: name.into(), owner: owner.into(), status: status.into(), metadata: None, now_ms: 5 }
}

async fn an_active_component_stays_with_its_owner_until_the_owner_changes_it(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let register = async |new: NewComponent| store.agents().register(new, WriteMode::Commit).await.unwrap();
    let with = NewComponent { metadata: Some(r#"{"port":1}"#.into()), ..component("api", "ann", "active") };
    assert_eq!(register(with).await, Registration::Registered);
    assert_eq!(register(component("api", "bob", "active")).await, Registration::OwnedBy("ann".into()));
    assert_eq!(store.agents().state("bob").await.unwrap(), None);
    assert_eq!(register(component("api", "ann", "inactive")).await, Registration::Registered);
    let kept = store.agents().components_named(vec!["none".into(), "api".into()]).await.unwrap();
    assert_eq!((kept.len(), kept[0].metadata.as_str()), (1, r#"{"port":1}"#));
    assert_eq!(register(component("api", "bob", "active")).await, Registration::Registered);
    let found = store.agents().components_named(vec!["api".into()]).await.unwrap();
    assert_eq!((found[0].owner.as_str(), found[0].metadata.as_str(), found[0].updated_ms), ("bob", "{}", 5));
}

async fn of_many_registrations_of_one_component_one_succeeds(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let outcomes = at_once(20, |number| {
        let store = stores[number % 2].clone();
        async move {
            store.agents().register(component("api", &number.to_string(), "active"), WriteMode::Commit).await.unwrap()
        }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registration::Registered).count(), 1);
}

async fn components_are_found_by_owner_and_status(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (name, owner, status) in [("a", "ann", "active"), ("b", "ann", "deprecated"), ("c", "bob", "active")] {
        store.agents().register(component(name, owner, status), WriteMode::Commit).await.unwrap();
    }
    let find = async |owner: Option<&str>, status: Option<&str>, after: &str| -> Vec<String> {
        let (owner, status) = (owner.map(str::to_owned), status.map(str::to_owned));
        let query = ComponentQuery { owner, status, after: after.into(), limit: 2 };
        store.agents().components(query).await.unwrap().into_iter().map(|component| component.name).collect()
    };
    assert_eq!(find(None, None, "").await, ["a", "b"]);
    assert_eq!(find(None, None, "b").await, ["c"]);
    assert_eq!(find(Some("ann"), None, "a").await, ["b"]);
    assert_eq!(find(None, Some("active"), "").await, ["a", "c"]);
    assert_eq!(find(Some("ann"), Some("active"), "").await, ["a"]);
}

fn detected(severity: &str) -> DetectedConflict {
    DetectedConflict {
        component: "users".into(),
        kind: "schema".into(),
        severity: severity.into(),
        agents: vec!["ann".into(), "bob".into()],
    }
}

async fn an_open_conflict_is_stored_once_and_a_resolved_one_may_come_back(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let add =
        async |found: Vec<DetectedConflict>| store.agents().add_conflicts(found, 7, WriteMode::Commit).await.unwrap();
    let other = DetectedConflict { agents: vec!["ann".into(), "cid".into()], ..detected("high") };
    assert_eq!(add(vec![detected("high"), other]).await, 2);
    assert_eq!(add(vec![detected("critical")]).await, 0);
    let open = store.agents().conflicts(false, None, 10).await.unwrap();
    assert_eq!(open.len(), 2);
    assert_eq!((&open[1].detected, open[1].created_ms), (&detected("critical"), 7));
    let id = open[1].id;
    let resolve =
        async |id| store.agents().resolve_conflict(id, Some("split".into()), 9, WriteMode::Commit).await.unwrap();
    let ChangeOutcome::Done(resolved) = resolve(id).await else { panic!("not resolved") };
    assert_eq!(
        (resolved.resolved, resolved.resolution.as_deref(), resolved.resolved_ms),
        (true, Some("split"), Some(9))
    );
    assert_eq!(resolve(id).await, ChangeOutcome::Rejected(resolved));
    assert_eq!(resolve(id + 1000).await, ChangeOutcome::NotFound);
    assert_eq!(store.agents().conflicts(false, None, 10).await.unwrap().len(), 1);
    assert_eq!(add(vec![detected("high")]).await, 1);
    assert_eq!(store.agents().conflicts(true, None, 10).await.unwrap().len(), 3);
    assert_eq!(store.agents().conflicts(true, Some(id + 1), 1).await.unwrap()[0].id, id);
}

fn request(from: &str, to: &str) -> NewCollaboration {
    NewCollaboration {
        from_agent: from.into(),
        to_agent: to.into(),
        task: "review".into(),
        priority: "high".into(),
        now_ms: 3,
    }
}

async fn a_request_is_answered_by_its_recipient_and_completed_once(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let id = store.agents().request(request("ann", "bob"), WriteMode::Commit).await.unwrap();
    let answer = async |agent: &str, status: &str, note: Option<&str>| {
        store.agents().answer(id, agent, status, note.map(Into::into), 4, WriteMode::Commit).await.unwrap()
    };
    assert!(matches!(answer("ann", "accepted", None).await, ChangeOutcome::Rejected(_)));
    let ChangeOutcome::Done(accepted) = answer("bob", "accepted", Some("soon")).await else { panic!("not accepted") };
    assert_eq!(
        (accepted.status.as_str(), accepted.note.as_deref(), accepted.answered_ms),
        ("accepted", Some("soon"), Some(4))
    );
    let ChangeOutcome::Done(completed) = answer("bob", "completed", None).await else { panic!("not completed") };
    assert_eq!((completed.status.as_str(), completed.note.as_deref()), ("completed", Some("soon")));
    assert_eq!(answer("bob", "declined", None).await, ChangeOutcome::Rejected(completed));
    let nowhere = store.agents().answer(id + 1000, "bob", "accepted", None, 4, WriteMode::Commit).await.unwrap();
    assert_eq!(nowhere, ChangeOutcome::NotFound);
}

async fn requests_are_found_by_any_set_of_filters(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut rows = Vec::new();
    for (from, to) in [("ann", "bob"), ("ann", "cid"), ("bob", "ann"), ("cid", "bob")] {
        for status in ["pending", "accepted"] {
            let id = store.agents().request(request(from, to), WriteMode::Commit).await.unwrap();
            if status != "pending" {
                store.agents().answer(id, to, status, None, 4, WriteMode::Commit).await.unwrap();
            }
            rows.push((id, from, to, status));
        }
    }
    for mask in 0..8_u8 {
        let wanted = |bit: u8, value: &str| (mask & bit != 0).then(|| value.to_owned());
        let query = CollaborationQuery {
            from_agent: wanted(1, "ann"),
            to_agent: wanted(2, "bob"),
            status: wanted(4, "accepted"),
            before: None,
            limit: 100,
        };
        let fits = |row: &&(i64, &str, &str, &str)| {
            query.from_agent.as_ref().is_none_or(|from| from == row.1)
                && query.to_agent.as_ref().is_none_or(|to| to == row.2)
                && query.status.as_ref().is_none_or(|status| status == row.3)
        };
        let expected: Vec<i64> = rows.iter().rev().filter(fits).map(|row| row.0).collect();
        let found = store.agents().collaborations(query.clone()).await.unwrap();
        assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), expected, "{query:?}");
    }
}

fn proposal(by: &str) -> NewProposal {
    NewProposal {
        category: "design".into(),
        question: "REST?".into(),
        proposed_by: by.into(),
        metadata: None,
        now_ms: 1,
    }
}

async fn each_agent_has_one_vote_until_the_decision_is_resolved(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let id = store.agents().propose(proposal("ann"), WriteMode::Commit).await.unwrap();
    let vote = async |agent: &str, choice: &str| {
        let vote = Vote { choice: choice.into(), note: None, at_ms: 2 };
        store.agents().vote(id, agent, vote, 2, WriteMode::Commit).await.unwrap()
    };
    vote("ann", "yes").await;
    vote("bob", "yes").await;
    let ChangeOutcome::Done(voted) = vote("bob", "no").await else { panic!("no vote") };
    let choices: Vec<_> = voted.votes.iter().map(|(agent, vote)| (agent.as_str(), vote.choice.as_str())).collect();
    assert_eq!(choices, [("ann", "yes"), ("bob", "no")]);
    // A third voter exceeds the limit of this call.
    assert_eq!(vote("cid", "yes").await, ChangeOutcome::Rejected(voted));
    let resolve = async |id| {
        store.agents().resolve_proposal(id, "accepted", Some("so be it".into()), 3, WriteMode::Commit).await.unwrap()
    };
    let ChangeOutcome::Done(resolved) = resolve(id).await else { panic!("not resolved") };
    assert_eq!((resolved.status.as_str(), resolved.resolved_ms, resolved.votes.len()), ("accepted", Some(3), 2));
    assert_eq!(vote("ann", "no").await, ChangeOutcome::Rejected(resolved.clone()));
    assert_eq!(resolve(id).await, ChangeOutcome::Rejected(resolved.clone()));
    assert_eq!(resolve(id + 1000).await, ChangeOutcome::NotFound);
    let second = store.agents().propose(proposal("ann"), WriteMode::Commit).await.unwrap();
    let ids = async |status: Option<&str>, before| -> Vec<i64> {
        let found = store.agents().proposals(status.map(Into::into), before, 10).await.unwrap();
        found.into_iter().map(|decision| decision.id).collect()
    };
    assert_eq!((ids(None, None).await, ids(None, Some(second)).await), (vec![second, id], vec![id]));
    assert_eq!((ids(Some("open"), None).await, ids(Some("accepted"), None).await), (vec![second], vec![id]));
}

async fn a_dry_run_returns_the_result_and_changes_nothing(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let agents = store.agents();
    agents.register(component("api", "ann", "active"), WriteMode::Commit).await.unwrap();
    let dry_run = WriteMode::DryRun;
    assert_eq!(
        agents.register(component("api", "bob", "active"), dry_run).await.unwrap(),
        Registration::OwnedBy("ann".into())
    );
    agents.register(component("web", "bob", "active"), dry_run).await.unwrap();
    agents.log(activity("bob", "x", None), dry_run).await.unwrap();
    agents.heartbeat("bob", 9, dry_run).await.unwrap();
    agents.set_state("bob", "busy", None, 9, dry_run).await.unwrap();
    agents.request(request("bob", "ann"), dry_run).await.unwrap();
    agents.propose(proposal("bob"), dry_run).await.unwrap();
    assert_eq!(agents.add_conflicts(vec![detected("high")], 9, dry_run).await.unwrap(), 1);
    assert_eq!(agents.resolve_conflict(1, None, 9, dry_run).await.unwrap(), ChangeOutcome::NotFound);
    let counted = agents.delete_all(dry_run).await.unwrap();
    assert_eq!(counted.values().sum::<u64>(), 2, "{counted:?}");
    assert_eq!(agents.delete_all(WriteMode::Commit).await.unwrap(), counted);
    assert_eq!((counted["components"], counted["agent_states"]), (1, 1));
}

async fn deleting_everything_counts_each_table_and_reuses_no_number(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let agents = store.agents();
    let mut last = 0;
    for _ in 0..3 {
        last = log(&store, activity("ann", "x", None)).await;
    }
    agents.request(request("ann", "bob"), WriteMode::Commit).await.unwrap();
    agents.propose(proposal("ann"), WriteMode::Commit).await.unwrap();
    agents.add_conflicts(vec![detected("high")], 9, WriteMode::Commit).await.unwrap();
    agents.register(component("api", "ann", "active"), WriteMode::Commit).await.unwrap();
    let counts = [
        ("activities", 3),
        ("agent_states", 1),
        ("collaborations", 1),
        ("components", 1),
        ("conflicts", 1),
        ("decisions", 1),
    ];
    let expected: BTreeMap<String, u64> = counts.map(|(table, rows)| (table.to_owned(), rows)).into();
    assert_eq!(agents.delete_all(WriteMode::Commit).await.unwrap(), expected);
    assert_eq!(agents.delete_all(WriteMode::Commit).await.unwrap().values().sum::<u64>(), 0);
    assert!(log(&store, activity("ann", "x", None)).await > last);
}

async fn the_schema_is_described_as_the_database_has_it(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let tables = store.agents().tables().await.unwrap();
    assert_eq!(tables, ["activities", "agent_states", "collaborations", "components", "conflicts", "decisions"]);
    let columns = store.agents().columns("activities").await.unwrap();
    let names: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.nullable)).collect();
    let expected = [
        ("id", false),
        ("agent", false),
        ("timestamp", false),
        ("activity", false),
        ("category", false),
        ("status", true),
        ("details", true),
    ];
    assert_eq!(names, expected);
    assert_eq!((columns[0].kind.as_str(), columns[1].kind.as_str()), (database.pick("integer", "bigint"), "text"));
    for other in ["audit", "session", "none", "activities; DROP TABLE activities"] {
        assert_eq!(store.agents().columns(other).await.unwrap(), []);
    }
    database.sql("DROP TABLE conflicts").await;
    assert!(!store.agents().tables().await.unwrap().contains(&"conflicts".to_owned()));
}
