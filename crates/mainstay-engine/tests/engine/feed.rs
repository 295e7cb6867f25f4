//! Whoever listens hears what happened, in order, and what they missed.

use std::time::Duration;

use mainstay_core::{Call, Caller, Change, Event};
use mainstay_engine::{Engine, FeedEvent, FeedUpdate, Listener};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::testing::{Fixture, local, with_token};

fn run_feed(engine: &Engine) -> JoinHandle<()> {
    let engine = engine.clone();
    tokio::spawn(async move { engine.run_feed().await })
}

async fn next(listener: &mut Listener) -> FeedUpdate {
    tokio::time::timeout(Duration::from_secs(20), listener.next()).await.unwrap().unwrap()
}

/// The next so many events.
async fn receive(listener: &mut Listener, count: usize) -> Vec<FeedEvent> {
    let mut heard = Vec::new();
    while heard.len() < count {
        match next(listener).await {
            FeedUpdate::Events(events) => heard.extend(events),
            FeedUpdate::Missed { after, until } => panic!("missed {after} to {until}"),
        }
    }
    heard
}

fn announce(engine: &Engine, number: usize) {
    engine
        .events()
        .publish(Event::ResourceUpdated { uri: format!("file://{number}").into(), change: Change::Modified });
}

fn numbers(events: &[FeedEvent]) -> Vec<usize> {
    events.iter().map(|event| event.data["uri"].as_str().unwrap()["file://".len()..].parse().unwrap()).collect()
}

#[tokio::test]
async fn events_come_in_order_with_rising_ids_and_the_contracts_shape() {
    let fixture = Fixture::new().await;
    let _telling = run_feed(&fixture.engine);
    let mut listener = fixture.engine.listen(&local(), None).await.unwrap();
    fixture.call(&local(), "test_drop", json!({})).await.unwrap();
    fixture.call(&local(), "remove_item", json!({})).await.unwrap_err();
    for number in 0..1500 {
        announce(&fixture.engine, number);
    }
    let heard = receive(&mut listener, 1501).await;
    let at = "2027-01-15T08:00:00Z";
    assert_eq!(
        (heard[0].event.as_str(), &heard[0].data),
        ("tool_executed", &json!({"tool": "test_drop", "result": "success", "timestamp": at}))
    );
    // What a person has yet to approve did not run, and is not told.
    assert_eq!(heard[1].data, json!({"uri": "file://0", "action": "modified", "timestamp": at}));
    assert_eq!(numbers(&heard[1..]), (0..1500).collect::<Vec<_>>());
    assert!(heard.windows(2).all(|pair| pair[0].id < pair[1].id));
}

#[tokio::test]
async fn a_listener_that_was_away_hears_the_rest_after_a_restart_too() {
    let fixture = Fixture::new().await;
    let first = run_feed(&fixture.engine);
    let mut listener = fixture.engine.listen(&local(), None).await.unwrap();
    announce(&fixture.engine, 1);
    let last = receive(&mut listener, 1).await[0].id;
    drop(listener);
    announce(&fixture.engine, 2);
    // What was said last is written down before the server goes.
    fixture.engine.shut_down().await;
    first.abort();
    let fixture = fixture.again(mainstay_engine::EngineSettings::default()).await;
    let _second = run_feed(&fixture.engine);
    let mut listener = fixture.engine.listen(&local(), Some(last)).await.unwrap();
    assert_eq!(numbers(&receive(&mut listener, 1).await), [2]);
    announce(&fixture.engine, 3);
    assert_eq!(numbers(&receive(&mut listener, 1).await), [3]);
    listener.resume(last).await.unwrap();
    assert_eq!(numbers(&receive(&mut listener, 2).await), [2, 3]);
}

#[tokio::test]
async fn two_processes_on_one_store_tell_the_same_in_the_same_order() {
    let one = Fixture::new().await;
    let two = one.again(mainstay_engine::EngineSettings::default()).await;
    let _tasks = (run_feed(&one.engine), run_feed(&two.engine));
    let mut here = one.engine.listen(&local(), None).await.unwrap();
    let mut there = two.engine.listen(&local(), Some(here.position())).await.unwrap();
    for number in 0..50 {
        announce(if number % 2 == 0 { &one.engine } else { &two.engine }, number);
    }
    let (here, there) = (receive(&mut here, 50).await, receive(&mut there, 50).await);
    assert_eq!(numbers(&here), numbers(&there));
    assert_eq!(here.iter().map(|e| e.id).collect::<Vec<_>>(), there.iter().map(|e| e.id).collect::<Vec<_>>());
}

#[tokio::test]
async fn nothing_is_written_while_nobody_has_listened_for_an_hour_and_the_gap_is_said() {
    let fixture = Fixture::new().await;
    let _telling = run_feed(&fixture.engine);
    announce(&fixture.engine, 1);
    let mut listener = fixture.engine.listen(&local(), None).await.unwrap();
    announce(&fixture.engine, 2);
    let heard = receive(&mut listener, 1).await;
    assert_eq!(numbers(&heard), [2]);
    drop(listener);
    fixture.clock.advance(Duration::from_hours(1));
    announce(&fixture.engine, 3);
    fixture.engine.sweep().await.unwrap();
    let mut listener = fixture.engine.listen(&local(), Some(heard[0].id)).await.unwrap();
    assert!(matches!(next(&mut listener).await, FeedUpdate::Missed { after, .. } if after == heard[0].id));
    announce(&fixture.engine, 4);
    assert_eq!(numbers(&receive(&mut listener, 1).await), [4]);
    let mut stranger = fixture.engine.listen(&local(), Some(1_000_000)).await.unwrap();
    assert!(matches!(next(&mut stranger).await, FeedUpdate::Missed { after: 1_000_000, .. }));
}

#[tokio::test]
async fn somebody_elses_calls_are_heard_by_an_admin_alone() {
    let fixture = Fixture::new().await;
    let _telling = run_feed(&fixture.engine);
    let (alice, bob) = (with_token("alice", "read write"), with_token("bob", "read write"));
    let mut listeners = Vec::new();
    for caller in [alice.clone(), with_token("boss", "admin"), local()] {
        listeners.push(fixture.engine.listen(&caller, None).await.unwrap());
    }
    let call = |caller: &Caller| {
        let call = Call::new(std::sync::Arc::new(caller.clone()));
        let engine = fixture.engine.clone();
        async move { engine.call_tool("test_drop", json!({}), call, &engine.lane()).await.unwrap() }
    };
    call(&bob).await;
    call(&alice).await;
    announce(&fixture.engine, 7);
    let counts = [2, 3, 3];
    for (listener, count) in listeners.iter_mut().zip(counts) {
        let heard = receive(listener, count).await;
        assert_eq!((heard.len(), numbers(&heard[count - 1..])), (count, vec![7]));
    }
}

#[tokio::test]
async fn more_than_can_be_written_down_is_said_to_be_missing() {
    let fixture = Fixture::new().await;
    let mut listener = fixture.engine.listen(&local(), None).await.unwrap();
    // Nobody writes yet: the queue fills, and calls would go on.
    for number in 0..10_003 {
        announce(&fixture.engine, number);
    }
    let _telling = run_feed(&fixture.engine);
    let heard = receive(&mut listener, 10_001).await;
    assert_eq!((heard[10_000].event.as_str(), &heard[10_000].data["count"]), ("missed", &json!(3)));
}
