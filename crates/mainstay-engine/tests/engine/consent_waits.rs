//! A call that waits for consent blocks no other call, and the number of open questions is limited.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_core::{Kind, Reason, iso8601};
use mainstay_engine::EngineSettings;
use serde_json::json;

use crate::testing::{Fixture, SilentClient, consent_id, local, with_token};

#[tokio::test]
async fn what_is_too_long_to_be_shown_whole_is_asked_of_nobody() {
    let fixture = Fixture::new().await;
    let noise = "./".repeat(2000);
    let id = fixture.asked(&local(), json!({ "file": noise })).await;
    let shown = fixture.engine.consent().find(&local(), &id).await.unwrap();
    assert!(shown.arguments.contains(&noise), "{}", shown.arguments);
    let refused = fixture.call(&local(), "test_wipe", json!({"file": "x".repeat(64 * 1024)})).await.unwrap_err();
    assert_eq!(refused.kind, Kind::TooLarge, "{refused}");
    assert_eq!(fixture.store.consents().pending(0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_waits_for_an_answer_no_longer_than_a_call_may_take() {
    let settings = EngineSettings { deadline_seconds: 1, ..EngineSettings::default() };
    let fixture = Fixture::new().await.again(settings).await;
    let silent = Arc::new(SilentClient::default());
    let refused = fixture.call_with(&local(), &silent, json!({"file": "a"})).await.unwrap_err();
    assert_eq!((refused.kind, silent.asked.load(Ordering::SeqCst)), (Kind::ConsentRequired, 1), "{refused}");
    let id = consent_id(refused);
    fixture.engine.consent().decide(&local(), &id, true, None).await.unwrap();
    assert!(fixture.call(&local(), "test_wipe", json!({"file": "a"})).await.is_ok());
}

#[tokio::test]
async fn past_sixteen_of_one_principals_calls_that_wait_the_next_does_not() {
    let fixture = Arc::new(Fixture::new().await);
    fixture.engine.consent().set_origin("http://127.0.0.1:8099".into());
    let silent = Arc::new(SilentClient::default());
    let wait = |who: &'static str, number: usize| {
        let (fixture, silent) = (fixture.clone(), silent.clone());
        tokio::spawn(async move {
            let caller = with_token(who, "delete");
            fixture.call_with(&caller, &silent, json!({ "file": number.to_string() })).await
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
    let fixture = Fixture::new().await;
    let alice = with_token("alice", "delete");
    let first = fixture.asked(&alice, json!({"file": "0"})).await;
    for number in 1..50 {
        fixture.clock.advance(Duration::from_millis(1));
        fixture.asked(&alice, json!({ "file": number.to_string() })).await;
    }
    let refused = fixture.call(&alice, "test_wipe", json!({"file": "50"})).await.unwrap_err();
    assert_eq!(refused.kind, Kind::ConsentRequired, "no rate that becomes free by itself: {refused}");
    assert!(refused.public.contains("mainstay consent list"), "{refused}");
    let Reason::PendingConsents { pending: 50, id, url, operation, expires_ms } = *refused.reason.unwrap() else {
        panic!("the reason says which request to decide first")
    };
    assert_eq!((&id, &url), (&first, &format!("/api/mcp/consent/{first}")));
    assert_eq!((operation.as_str(), iso8601(expires_ms).as_str()), ("test_wipe", "2027-01-15T08:30:00Z"));
    assert_eq!(fixture.asked(&alice, json!({"file": "0"})).await, first, "the same question is not another one");
    fixture.asked(&with_token("bob", "delete"), json!({"file": "50"})).await;
    fixture.engine.consent().decide(&local(), &first, false, None).await.unwrap();
    fixture.asked(&alice, json!({"file": "50"})).await;
}
