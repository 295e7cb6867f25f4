use std::sync::Arc;

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    a_nonce_is_claimed_once,
    of_many_claims_at_once_one_succeeds,
    of_claims_on_two_replicas_one_succeeds,
    a_nonce_is_deleted_only_after_it_has_expired,
];

async fn a_nonce_is_claimed_once(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(store.secrets().claim_nonce("n", 100).await.unwrap());
    assert!(!store.secrets().claim_nonce("n", 900).await.unwrap());
    assert!(store.secrets().claim_nonce("m", 100).await.unwrap());
}

async fn of_many_claims_at_once_one_succeeds(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let claims = at_once(200, |_| {
        let store = store.clone();
        async move { store.secrets().claim_nonce("n", 100).await.unwrap() }
    });
    assert_eq!(claims.await.into_iter().filter(|first| *first).count(), 1);
}

async fn of_claims_on_two_replicas_one_succeeds(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let claims = at_once(400, |number| {
        let store = stores[number % 2].clone();
        // Each replica claims the nonces in another order.
        let nonce = if number % 2 == 0 { number / 2 % 20 } else { 19 - number / 2 % 20 };
        async move { store.secrets().claim_nonce(&nonce.to_string(), 100).await.unwrap() }
    });
    assert_eq!(claims.await.into_iter().filter(|first| *first).count(), 20);
}

async fn a_nonce_is_deleted_only_after_it_has_expired(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(store.secrets().claim_nonce("n", 100).await.unwrap());
    assert_eq!(store.sweep(99).await.unwrap(), 0);
    assert!(!store.secrets().claim_nonce("n", 100).await.unwrap());
    assert_eq!(store.sweep(100).await.unwrap(), 1);
    assert!(store.secrets().claim_nonce("n", 200).await.unwrap());
}
