use std::sync::Arc;

use mainstay_store::{HeldKey, KeyClaim};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    a_new_key_is_claimed_and_then_running,
    a_finished_key_returns_its_outcome,
    an_outcome_is_never_replaced,
    a_released_key_can_be_claimed_again,
    a_finished_key_cannot_be_released,
    keys_are_private_to_their_principal,
    an_expired_key_can_be_claimed_again,
    finding_a_key_does_not_claim_it,
    of_many_claims_of_a_key_at_once_one_succeeds,
    of_two_replicas_that_claim_a_key_at_once_one_succeeds,
    sweeping_deletes_expired_keys,
];

fn key_claim(principal: &str, key: &str) -> KeyClaim {
    KeyClaim {
        principal: principal.into(),
        key: key.into(),
        target: "files_write".into(),
        args_digest: "d1".into(),
        now_ms: 10,
        expires_ms: 100,
    }
}

fn busy() -> HeldKey {
    HeldKey { target: "files_write".into(), args_digest: "d1".into(), since_ms: 10, outcome: None }
}

fn replay(outcome: &str) -> HeldKey {
    HeldKey { outcome: Some(outcome.into()), ..busy() }
}

async fn a_new_key_is_claimed_and_then_running(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), None);
    // The result describes the first call, not the second.
    let other =
        KeyClaim { target: "files_delete".into(), args_digest: "d2".into(), now_ms: 20, ..key_claim("ann", "k") };
    assert_eq!(store.idempotency().claim(other).await.unwrap(), Some(busy()));
}

async fn finding_a_key_does_not_claim_it(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let find = async |who: &str, now_ms| store.idempotency().find(who, "k", now_ms).await.unwrap();
    assert_eq!(find("ann", 10).await, None);
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), None);
    assert_eq!((find("ann", 10).await, find("bob", 10).await), (Some(busy()), None));
    store.idempotency().finish("ann", "k", "done".into()).await.unwrap();
    assert_eq!(find("ann", 99).await, Some(replay("done")));
    assert_eq!(find("ann", 100).await, None, "it has expired");
}

async fn a_finished_key_returns_its_outcome(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    store.idempotency().finish("ann", "k", "{\"ok\":true}".into()).await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), Some(replay("{\"ok\":true}")));
}

async fn an_outcome_is_never_replaced(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    store.idempotency().finish("ann", "k", "first".into()).await.unwrap();
    store.idempotency().finish("ann", "k", "second".into()).await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), Some(replay("first")));
}

async fn a_released_key_can_be_claimed_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    store.idempotency().release("ann", "k").await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), None);
}

async fn a_finished_key_cannot_be_released(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    store.idempotency().finish("ann", "k", "done".into()).await.unwrap();
    store.idempotency().release("ann", "k").await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), Some(replay("done")));
}

async fn keys_are_private_to_their_principal(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("bob", "k")).await.unwrap(), None);
    store.idempotency().finish("bob", "k", "bob's".into()).await.unwrap();
    store.idempotency().release("bob", "other").await.unwrap();
    assert_eq!(store.idempotency().claim(key_claim("ann", "k")).await.unwrap(), Some(busy()));
}

async fn an_expired_key_can_be_claimed_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "k")).await.unwrap();
    store.idempotency().finish("ann", "k", "old".into()).await.unwrap();
    let early = KeyClaim { now_ms: 99, expires_ms: 300, ..key_claim("ann", "k") };
    assert_eq!(store.idempotency().claim(early.clone()).await.unwrap(), Some(replay("old")));
    assert_eq!(store.idempotency().claim(KeyClaim { now_ms: 100, ..early.clone() }).await.unwrap(), None);
    // The old outcome was deleted with the old claim.
    let now = KeyClaim { now_ms: 101, ..early };
    assert_eq!(store.idempotency().claim(now).await.unwrap(), Some(HeldKey { since_ms: 100, ..busy() }));
}

async fn of_many_claims_of_a_key_at_once_one_succeeds(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let begun = at_once(200, |_| {
        let store = store.clone();
        async move { store.idempotency().claim(key_claim("ann", "k")).await.unwrap() }
    });
    let begun = begun.await;
    assert_eq!(begun.iter().filter(|begun| begun.is_none()).count(), 1);
    assert_eq!(begun.iter().filter(|begun| **begun == Some(busy())).count(), 199);
}

async fn of_two_replicas_that_claim_a_key_at_once_one_succeeds(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let begun = at_once(200, |number| {
        let store = stores[number % 2].clone();
        async move { store.idempotency().claim(key_claim("ann", &(number / 2 % 10).to_string())).await.unwrap() }
    });
    assert_eq!(begun.await.into_iter().filter(Option::is_none).count(), 10);
}

async fn sweeping_deletes_expired_keys(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.idempotency().claim(key_claim("ann", "a")).await.unwrap();
    store.idempotency().claim(KeyClaim { expires_ms: 500, ..key_claim("ann", "b") }).await.unwrap();
    assert_eq!(store.sweep(100).await.unwrap(), 1);
    assert_eq!(store.idempotency().claim(key_claim("ann", "a")).await.unwrap(), None);
    assert_eq!(store.idempotency().claim(key_claim("ann", "b")).await.unwrap(), Some(busy()));
}
