//! A call that waits for a person holds up nobody else, and nobody is asked more than they can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_core::{Answer, BoxFuture, Kind, Note, OpenQuestions, Result, Sink};
use mainstay_engine::EngineSettings;
use serde_json::json;

use crate::house::{House, consent_id, local, with_token};

/// A client that shows every question to somebody who never answers.
#[derive(Default)]
struct Silent {
    asked: AtomicUsize,
}

impl Sink for Silent {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, _asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn what_is_too_long_to_be_shown_whole_is_asked_of_nobody() {
    let house = House::new().await;
    let noise = "./".repeat(2000);
    let id = house.asked(&local(), json!({ "file": noise })).await;
    let shown = house.engine.consent().find(&local(), &id).await.unwrap();
    assert!(shown.arguments.contains(&noise), "{}", shown.arguments);
    let refused = house.call(&local(), "test_wipe", json!({"file": "x".repeat(64 * 1024)})).await.unwrap_err();
    assert_eq!(refused.kind, Kind::TooLarge, "{refused}");
    assert_eq!(house.store.consents().pending(0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_waits_for_an_answer_no_longer_than_a_call_may_take() {
    let settings = EngineSettings { deadline_seconds: 1, ..EngineSettings::default() };
    let house = House::new().await.again(settings).await;
    let silent = Arc::new(Silent::default());
    let refused = house.call_with(&local(), &silent, json!({"file": "a"})).await.unwrap_err();
    assert_eq!((refused.kind, silent.asked.load(Ordering::SeqCst)), (Kind::ConsentRequired, 1), "{refused}");
    let id = consent_id(refused);
    house.engine.consent().decide(&local(), &id, true, None).await.unwrap();
    assert!(house.call(&local(), "test_wipe", json!({"file": "a"})).await.is_ok());
}

#[tokio::test]
async fn past_sixteen_of_one_principals_calls_that_wait_the_next_does_not() {
    let house = Arc::new(House::new().await);
    house.engine.consent().set_origin("http://127.0.0.1:8099".into());
    let silent = Arc::new(Silent::default());
    let wait = |who: &'static str, number: usize| {
        let (house, silent) = (house.clone(), silent.clone());
        tokio::spawn(async move {
            let caller = with_token(who, "delete");
            house.call_with(&caller, &silent, json!({ "file": number.to_string() })).await
        })
    };
    let waiting: Vec<_> = (0..16).map(|number| wait("alice", number)).collect();
    while silent.asked.load(Ordering::SeqCst) < 16 {
        tokio::task::yield_now().await;
    }
    let refused = wait("alice", 16).await.unwrap().unwrap_err();
    assert_eq!((refused.kind, silent.asked.load(Ordering::SeqCst)), (Kind::ConsentRequired, 16));
    let _another = wait("bob", 16);
    while silent.asked.load(Ordering::SeqCst) < 17 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.iter().all(|call| !call.is_finished()));
}

#[tokio::test]
async fn past_fifty_requests_that_wait_no_further_one_is_taken() {
    let house = House::new().await;
    let alice = with_token("alice", "delete");
    let first = house.asked(&alice, json!({"file": "0"})).await;
    for number in 1..50 {
        house.asked(&alice, json!({ "file": number.to_string() })).await;
    }
    let refused = house.call(&alice, "test_wipe", json!({"file": "50"})).await.unwrap_err();
    assert_eq!(refused.kind, Kind::RateLimited, "{refused}");
    assert!(refused.public.contains("mainstay consent list"), "{refused}");
    assert_eq!(house.asked(&alice, json!({"file": "0"})).await, first, "the same question is not another one");
    house.asked(&with_token("bob", "delete"), json!({"file": "50"})).await;
    house.engine.consent().decide(&local(), &first, false, None).await.unwrap();
    house.asked(&alice, json!({"file": "50"})).await;
}
