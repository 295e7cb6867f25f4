//! Replicas on one PostgreSQL count together what one client may do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_core::{Call, Caller, DialectPolicy, Kind, Quota, Reason, new_id};
use mainstay_engine::EngineSettings;
use serde_json::json;

use crate::testing::{Fixture, SilentClient, with_token};

/// Calls through both in turn until neither admits any more; gives the number of calls that were admitted.
async fn admitted(replicas: &[Fixture; 2], caller: &Caller, policy: DialectPolicy) -> usize {
    let mut admitted = 0;
    loop {
        let mut refused = 0;
        for replica in replicas {
            let call = Call { policy, ..Call::new(Arc::new(caller.clone())) };
            match replica.engine.call_tool("test_look", json!({}), call, &replica.engine.lane()).await {
                Ok(_) => admitted += 1,
                Err(error) => {
                    assert_eq!(error.kind, Kind::RateLimited, "{error}");
                    refused += 1;
                }
            }
        }
        if refused == replicas.len() {
            return admitted;
        }
    }
}

#[tokio::test]
async fn a_client_has_its_quota_once_however_many_replicas_it_calls() {
    let mut settings = EngineSettings::default();
    settings.rate.per_client = Some(Quota { calls: 40, seconds: 60 });
    settings.rate.per_tool = [("test_look".to_owned(), Quota { calls: 30, seconds: 60 })].into();
    let Some(replicas) = Fixture::replicas(settings).await else { return };
    let strict = Quota { calls: 20, seconds: 60 };
    let dialect = DialectPolicy { name: "strict", quota: Some(strict), ..DialectPolicy::default() };
    let caller = || with_token(&new_id(), "read");
    assert_eq!(admitted(&replicas, &caller(), dialect).await, 20);
    assert_eq!(admitted(&replicas, &caller(), DialectPolicy::default()).await, 30);
    let alice = caller();
    assert_eq!(admitted(&replicas, &alice, dialect).await, 20);
    // What a limit rejects does not count against the ones after it.
    assert_eq!(admitted(&replicas, &alice, DialectPolicy::default()).await, 10);
}

#[tokio::test]
async fn calls_that_wait_for_consent_are_counted_on_all_replicas() {
    let Some(replicas) = Fixture::replicas(EngineSettings::default()).await else { return };
    let replicas = replicas.map(Arc::new);
    let silent = Arc::new(SilentClient::default());
    for replica in &replicas {
        replica.engine.consent().set_origin("http://127.0.0.1:8099".into());
    }
    let (alice, bob) = (with_token(&new_id(), "delete"), with_token(&new_id(), "delete"));
    let wait = |caller: &Caller, number: usize| {
        let (replica, silent, caller) = (replicas[number % 2].clone(), silent.clone(), caller.clone());
        tokio::spawn(async move { replica.call_with(&caller, &silent, json!({ "file": number.to_string() })).await })
    };
    let waiting: Vec<_> = (0..16).map(|number| wait(&alice, number)).collect();
    while silent.asked.load(Ordering::SeqCst) < 16 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for number in [16, 17] {
        let refused = wait(&alice, number).await.unwrap().unwrap_err();
        assert_eq!((refused.kind, silent.asked.load(Ordering::SeqCst)), (Kind::ConsentRequired, 16), "{refused}");
    }
    let _another = wait(&bob, 18);
    while silent.asked.load(Ordering::SeqCst) < 17 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(waiting.iter().all(|call| !call.is_finished()));
    // A call of one replica that no longer waits makes room on the other.
    waiting[0].abort();
    while silent.asked.load(Ordering::SeqCst) < 18 {
        let _ = tokio::time::timeout(Duration::from_millis(100), wait(&alice, 19)).await;
    }
}

#[tokio::test]
async fn pending_requests_are_counted_on_all_replicas() {
    let Some(replicas) = Fixture::replicas(EngineSettings::default()).await else { return };
    let alice = with_token(&new_id(), "delete");
    for number in 0..50 {
        replicas[number % 2].asked(&alice, json!({ "file": number.to_string() })).await;
    }
    for replica in &replicas {
        let refused = replica.call(&alice, "test_wipe", json!({"file": "50"})).await.unwrap_err();
        let reason = refused.reason.as_deref();
        assert!(matches!(reason, Some(Reason::PendingConsents { pending: 50, .. })), "{refused}");
    }
}
