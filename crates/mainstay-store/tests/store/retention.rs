//! What does not expire is bounded by age and size.

use std::sync::Arc;

use mainstay_store::{
    Activity, ActivityQuery, CollaborationQuery, ComponentQuery, DetectedConflict, Keep, KeyClaim, NewCollaboration,
    NewComponent, NewProposal, Retention, RetentionReport, Session, Store, WriteMode,
};

use crate::testing::TestDatabase;

on_both_engines![
    team_records_are_deleted_once_nobody_has_touched_them_for_long,
    a_component_stays_as_long_as_its_owner_is_seen,
    the_oldest_activities_are_deleted_when_there_are_too_many,
    dropped_results_leave_their_keys_taken,
    sessions_unused_for_longest_are_closed_when_there_are_too_many,
    deleted_events_are_a_gap_that_listeners_see,
    without_limits_nothing_is_deleted,
    sizes_are_known_by_topic,
];

const COMMIT: WriteMode = WriteMode::Commit;

async fn log(store: &Store, at_ms: i64, text: &str) -> i64 {
    let activity = Activity {
        id: 0,
        agent: "ann".into(),
        at_ms,
        activity: text.into(),
        category: "task".into(),
        status: None,
        details: None,
    };
    store.agents().log(activity, COMMIT).await.unwrap()
}

async fn ids(store: &Store) -> Vec<i64> {
    let query = ActivityQuery { limit: 10_000, ..ActivityQuery::default() };
    store.agents().activities(query).await.unwrap().into_iter().map(|activity| activity.id).rev().collect()
}

async fn applied(store: &Store, retention: Retention, now_ms: i64) -> u64 {
    store.apply_retention(&retention, now_ms).await.unwrap().rows
}

fn by_age(age_ms: i64) -> Retention {
    Retention { team: Keep { age_ms: Some(age_ms), bytes: None }, ..Retention::default() }
}

async fn register(store: &Store, name: &str, owner: &str, now_ms: i64) {
    let component =
        NewComponent { name: name.into(), owner: owner.into(), status: "active".into(), metadata: None, now_ms };
    store.agents().register(component, COMMIT).await.unwrap();
}

async fn team_records_are_deleted_once_nobody_has_touched_them_for_long(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let team = store.agents();
    // More than one write may delete.
    for number in 0..2500 {
        log(&store, number / 100, "old").await;
    }
    let kept = log(&store, 500, "new").await;
    for (now_ms, agent) in [(10, "bob"), (500, "cyd")] {
        let request = NewCollaboration {
            from_agent: agent.into(),
            to_agent: "ann".into(),
            task: "t".into(),
            priority: "low".into(),
            now_ms,
        };
        team.request(request, COMMIT).await.unwrap();
        let proposal = NewProposal {
            category: "c".into(),
            question: "q".into(),
            proposed_by: agent.into(),
            metadata: None,
            now_ms,
        };
        team.propose(proposal, COMMIT).await.unwrap();
        let conflict = DetectedConflict {
            component: agent.into(),
            kind: "file".into(),
            severity: "high".into(),
            agents: vec![agent.into()],
        };
        team.add_conflicts(vec![conflict], now_ms, COMMIT).await.unwrap();
    }
    // Old, and yet in use: it was answered lately.
    team.answer(1, "ann", "accepted", None, 450, COMMIT).await.unwrap();
    assert_eq!(applied(&store, by_age(100), 99).await, 0);
    // 2500 activities, one proposal, one conflict, and the agent that was not seen since.
    assert_eq!(applied(&store, by_age(100), 510).await, 2503);
    assert_eq!(ids(&store).await, [kept]);
    assert_eq!(team.proposals(None, None, 9).await.unwrap().len(), 1);
    assert_eq!(team.conflicts(true, None, 9).await.unwrap().len(), 1);
    let collaborations = CollaborationQuery { limit: 9, ..CollaborationQuery::default() };
    assert_eq!(team.collaborations(collaborations).await.unwrap().len(), 2);
    assert!(team.state("bob").await.unwrap().is_none() && team.state("cyd").await.unwrap().is_some());
    assert!(log(&store, 520, "next").await > kept, "numbers are never used again");
}

async fn a_component_stays_as_long_as_its_owner_is_seen(database: Arc<TestDatabase>) {
    let store = database.open().await;
    register(&store, "of-ann", "ann", 10).await;
    register(&store, "of-bob", "bob", 10).await;
    store.agents().heartbeat("ann", 500, COMMIT).await.unwrap();
    assert_eq!(applied(&store, by_age(100), 510).await, 2, "bob and the component");
    let query = ComponentQuery { limit: 9, ..ComponentQuery::default() };
    let left = store.agents().components(query).await.unwrap();
    assert_eq!(left.iter().map(|component| component.name.as_str()).collect::<Vec<_>>(), ["of-ann"]);
}

async fn the_oldest_activities_are_deleted_when_there_are_too_many(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..10 {
        log(&store, number, &"é".repeat(50)).await;
    }
    let keep = |bytes| Retention { team: Keep { age_ms: None, bytes: Some(bytes) }, ..Retention::default() };
    assert_eq!(applied(&store, keep(1000), 0).await, 0);
    assert_eq!(applied(&store, keep(350), 0).await, 7);
    assert_eq!(ids(&store).await, [8, 9, 10]);
}

async fn dropped_results_leave_their_keys_taken(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let claim = |key: &str, now_ms| KeyClaim {
        principal: "ann".into(),
        key: key.into(),
        target: "t".into(),
        args_digest: "d".into(),
        now_ms,
        expires_ms: 1000,
    };
    for (key, now_ms) in [("a", 1), ("b", 2), ("c", 3), ("running", 4)] {
        assert!(store.idempotency().claim(claim(key, now_ms)).await.unwrap().is_none());
        if key != "running" {
            store.idempotency().finish("ann", key, "x".repeat(100)).await.unwrap();
        }
    }
    let retention = Retention { result_bytes: Some(150), ..Retention::default() };
    assert_eq!(applied(&store, retention, 5).await, 2);
    for (key, kept) in [("a", Some(0)), ("b", Some(0)), ("c", Some(100)), ("running", None)] {
        let held = store.idempotency().claim(claim(key, 6)).await.unwrap().unwrap();
        assert_eq!(held.outcome.map(|outcome| outcome.len()), kept, "{key}");
    }
}

async fn sessions_unused_for_longest_are_closed_when_there_are_too_many(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..5 {
        let session = Session {
            id: format!("s{number}"),
            principal: "ann".into(),
            dialect: "mcp".into(),
            state: "x".repeat(100),
            created_ms: 1,
            expires_ms: 1000 + number,
        };
        store.sessions().open(session).await.unwrap();
    }
    store.sessions().extend("s0", 2000).await.unwrap();
    let retention = Retention { session_bytes: Some(250), ..Retention::default() };
    assert_eq!(applied(&store, retention, 5).await, 3);
    for (id, open) in [("s0", true), ("s1", false), ("s2", false), ("s3", false), ("s4", true)] {
        assert_eq!(store.sessions().find(id, 5).await.unwrap().is_some(), open, "{id}");
    }
}

async fn deleted_events_are_a_gap_that_listeners_see(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.feed().listen(1).await.unwrap();
    let mut last = 0;
    for _ in 0..4 {
        last = store.feed().append(format!("[{}]", "1".repeat(98)), 1, 1).await.unwrap();
    }
    let retention = Retention { event_bytes: Some(250), ..Retention::default() };
    assert_eq!(applied(&store, retention, 2).await, 2);
    assert_eq!(store.feed().head().await.unwrap().floor, last - 2);
    assert_eq!(store.feed().after(0, 9).await.unwrap().len(), 2);
}

async fn without_limits_nothing_is_deleted(database: Arc<TestDatabase>) {
    let store = database.open().await;
    log(&store, 1, "old").await;
    assert_eq!(store.apply_retention(&Retention::default(), i64::MAX).await.unwrap(), RetentionReport::default());
    assert_eq!(ids(&store).await, [1]);
}

/// A text that no engine stores in less than its length.
fn noise(seed: i64) -> String {
    let mut state = seed.unsigned_abs();
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 40) % 26).unwrap())
    });
    letters.take(5000).collect()
}

async fn sizes_are_known_by_topic(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let of =
        |sizes: &mainstay_store::StoreSizes, name| sizes.topics.iter().find(|(topic, _)| *topic == name).unwrap().1;
    let before = store.sizes().await.unwrap();
    for number in 0..100 {
        log(&store, number, &noise(number)).await;
    }
    let after = store.sizes().await.unwrap();
    assert!(of(&after, "agents") > of(&before, "agents") + 100_000, "{before:?} {after:?}");
    assert_eq!(of(&after, "sessions"), of(&before, "sessions"));
    assert!(after.total > before.total && after.total >= after.topics.iter().map(|(_, bytes)| bytes).sum());
    assert_eq!(after.archive, (0, 0));
}
