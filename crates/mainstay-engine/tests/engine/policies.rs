//! The order of the policies, and who receives events about a call.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Call, Caller, Change, DialectPolicy, Event, Kind, Quota, Reply, Result};
use mainstay_engine::{EngineSettings, FeedUpdate};
use serde_json::{Value, json};

use crate::testing::{Fixture, local, with_token};

async fn limited(calls: u32) -> Fixture {
    let mut settings = EngineSettings::default();
    settings.rate.per_client = Some(Quota { calls, seconds: 3600 });
    Fixture::new().await.again(settings).await
}

fn kind<T>(result: Result<T>) -> Option<Kind> {
    result.err().map(|error| error.kind)
}

#[tokio::test]
async fn a_call_of_a_wrong_shape_or_without_the_scope_counts_like_any_other() {
    for (caller, args, refused) in [
        (local(), json!({"no_such": 1}), Kind::Invalid),
        (with_token("ann", "read"), json!({}), Kind::Denied),
        (with_token("ann", "read"), json!({"no_such": 1}), Kind::Denied),
    ] {
        let fixture = limited(3).await;
        for _ in 0..3 {
            assert_eq!(kind(fixture.call(&caller, "test_drop", args.clone()).await), Some(refused));
        }
        assert_eq!(kind(fixture.call(&caller, "test_drop", args).await), Some(Kind::RateLimited));
        assert_eq!(kind(fixture.call(&caller, "no_such", json!({})).await), Some(Kind::RateLimited));
    }
}

#[tokio::test]
async fn an_inquiry_without_the_scope_counts_like_any_other() {
    let fixture = limited(2).await;
    let ask = async || {
        let call = Call::new(Arc::new(with_token("ann", "write")));
        let scope = Some(mainstay_core::Scope::Read);
        kind(fixture.engine.audited_query("tools/list", &call, scope, async { Ok(()) }).await)
    };
    assert_eq!([ask().await, ask().await], [Some(Kind::Denied); 2]);
    assert_eq!(ask().await, Some(Kind::RateLimited));
}

/// A call under the key k, as contract 001 has it.
async fn keyed(fixture: &Fixture, caller: &Caller, tool: &str, args: Value) -> Result<Reply> {
    let mut call = Call::new(Arc::new(caller.clone()));
    call.idempotency_key = Some("k".into());
    call.policy = DialectPolicy { first_result_wins: true, ..DialectPolicy::default() };
    fixture.engine.call_tool(tool, args, call, &fixture.engine.lane()).await
}

#[tokio::test]
async fn where_the_first_result_wins_a_used_key_gives_it_whatever_it_is_used_for_now() {
    let fixture = Fixture::new().await;
    let (ann, reader) = (with_token("ann", "read write"), with_token("ann", "read"));
    // What only rehearses, or cannot be made, takes no key.
    keyed(&fixture, &ann, "remove_item", json!({"dry_run": true})).await.unwrap();
    assert_eq!(kind(keyed(&fixture, &ann, "test_drop", json!({"no_such": 1})).await), Some(Kind::Invalid));
    let first = keyed(&fixture, &ann, "test_drop", json!({})).await.unwrap();
    for (tool, args) in [
        ("test_drop", json!({"no_such": 1})),
        ("test_drop", json!({"dry_run": true})),
        ("remove_item", json!({"dry_run": true})),
        ("remove_item", json!({})),
        ("test_look", json!({"fail": false})),
    ] {
        assert_eq!(keyed(&fixture, &ann, tool, args.clone()).await.unwrap(), first, "{tool} {args}");
    }
    assert_eq!(kind(keyed(&fixture, &reader, "test_drop", json!({})).await), Some(Kind::Denied));
    assert_ne!(keyed(&fixture, &with_token("bob", "read"), "test_look", json!({})).await.unwrap(), first);
}

#[tokio::test]
async fn only_what_ran_is_told_and_a_consultation_is_not_a_call() {
    let fixture = limited(8).await;
    let engine = fixture.engine.clone();
    let telling = tokio::spawn(async move { engine.run_feed().await });
    let mut listener = fixture.engine.listen(&local(), None).await.unwrap();
    let key = async || keyed(&fixture, &local(), "test_drop", json!({})).await;
    key().await.unwrap();
    key().await.unwrap();
    fixture.call(&local(), "test_drop", json!({"no_such": 1})).await.unwrap_err();
    fixture.call(&local(), "no_such", json!({})).await.unwrap_err();
    fixture.call(&local(), "test_wipe", json!({"file": "a"})).await.unwrap_err();
    assert_eq!(kind(fixture.call(&local(), "test_look", json!({"fail": true})).await), Some(Kind::Unavailable));
    let caller = Arc::new(local());
    let seen = fixture.engine.read_tool(&caller, "test_look", json!({})).await.unwrap();
    assert_eq!(seen, Some(json!({"seen": true})));
    fixture.call(&local(), "test_look", json!({})).await.unwrap();
    fixture.call(&local(), "test_look", json!({})).await.unwrap();
    assert_eq!(kind(fixture.call(&local(), "test_look", json!({})).await), Some(Kind::RateLimited));
    fixture.engine.events().publish(Event::ResourceUpdated { uri: "file://last".into(), change: Change::Deleted });
    let mut told = Vec::new();
    while told.last().is_none_or(|(what, _)| what != "file://last") {
        let heard = tokio::time::timeout(Duration::from_secs(20), listener.next()).await.unwrap().unwrap();
        let FeedUpdate::Events(events) = heard else { panic!("something was missed") };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        told.extend(events.iter().map(|event| match event.event.as_str() {
            "tool_executed" => (text(&event.data["tool"]), text(&event.data["result"])),
            _ => (text(&event.data["uri"]), text(&event.data["action"])),
        }));
    }
    let expected = [
        ("test_drop", "success"),
        ("test_look", "unavailable"),
        ("test_look", "success"),
        ("test_look", "success"),
        ("file://last", "deleted"),
    ];
    assert_eq!(told, expected.map(|(what, result)| (what.to_owned(), result.to_owned())));
    telling.abort();
}

#[tokio::test]
async fn what_is_consulted_only_reads_and_what_it_fails_for_is_passed_on() {
    let fixture = Fixture::new().await;
    let rows = fixture.audit().await.len();
    let ask =
        async |caller: Caller, tool: &str, args: Value| fixture.engine.read_tool(&Arc::new(caller), tool, args).await;
    assert_eq!(kind(ask(local(), "test_look", json!({"fail": true})).await), Some(Kind::Unavailable));
    assert_eq!(kind(ask(local(), "test_look", json!({"no_such": 1})).await), Some(Kind::Invalid));
    assert_eq!(kind(ask(local(), "test_drop", json!({})).await), Some(Kind::Internal));
    assert_eq!(kind(ask(with_token("ann", "write"), "test_look", json!({})).await), Some(Kind::Denied));
    assert_eq!(ask(local(), "no_such", json!({})).await.unwrap(), None);
    assert_eq!(fixture.audit().await.len(), rows, "the inquiry leaves the row");
}

#[tokio::test]
async fn the_sessions_of_a_principal_are_bounded_in_number_and_size() {
    let (fixture, life) = (Fixture::new().await, Duration::from_hours(24));
    let (engine, ann, bob) =
        (&fixture.engine, with_token("ann", "read").principal, with_token("bob", "read").principal);
    let open = async |id: String, state: &str| engine.open_session(&id, &ann, "mcp", state.to_owned(), life).await;
    engine.open_session("bobs", &bob, "mcp", "{}".to_owned(), life).await.unwrap();
    for number in 0..1002 {
        open(format!("{number:04}"), "{}").await.unwrap();
    }
    assert_eq!(fixture.store.sessions().count(Some(ann.as_str()), 0).await.unwrap(), 1000);
    assert!(engine.find_session("1001", &ann).await.unwrap().is_some(), "the newest is kept");
    assert!(engine.find_session("bobs", &bob).await.unwrap().is_some(), "others are not concerned");
    assert_eq!(kind(open("long".to_owned(), &"x".repeat(64 * 1024 + 1)).await), Some(Kind::Invalid));
}
