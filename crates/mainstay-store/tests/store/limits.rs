//! Counters that replicas share.

use std::sync::Arc;

use mainstay_store::{Lease, LeaseRequest, Store};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    replicas_together_never_lease_more_than_the_limit,
    a_lease_counts_until_it_expires,
    what_is_given_back_is_free_again,
    a_small_rest_is_leased_in_small_parts,
];

fn request(wanted: u32, now_ms: i64) -> LeaseRequest {
    LeaseRequest { counter: "ann".into(), limit: 100, wanted, unused: None, now_ms, expires_ms: now_ms + 60_000 }
}

async fn units(store: &Store, request: LeaseRequest) -> u32 {
    match store.limits().lease(request).await.unwrap() {
        Lease::Granted { units, .. } => units,
        Lease::Exhausted { .. } => 0,
    }
}

async fn replicas_together_never_lease_more_than_the_limit(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let leased = at_once(200, |number| {
        let store = stores[number % 2].clone();
        async move { units(&store, request(5, 1)).await }
    });
    assert_eq!(leased.await.into_iter().sum::<u32>(), 100);
    let other = LeaseRequest { counter: "bob".into(), ..request(1, 1) };
    assert_eq!(units(&stores[0], other).await, 1, "counters are apart");
}

async fn a_lease_counts_until_it_expires(database: Arc<TestDatabase>) {
    let store = database.open().await;
    while units(&store, request(50, 1)).await > 0 {}
    let full = Lease::Exhausted { until_ms: 60_001 };
    assert_eq!(store.limits().lease(request(1, 2)).await.unwrap(), full);
    assert_eq!(store.limits().lease(request(1, 60_000)).await.unwrap(), full);
    assert_eq!(units(&store, request(1, 60_001)).await, 1);
    assert!(store.sweep(60_001).await.unwrap() > 0);
    assert_eq!(store.sweep(60_001).await.unwrap(), 0);
}

async fn what_is_given_back_is_free_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let Lease::Granted { id, units: granted } = store.limits().lease(request(10, 1)).await.unwrap() else {
        panic!("nothing is in use")
    };
    assert_eq!(granted, 10);
    while units(&store, request(1, 1)).await > 0 {}
    let unused = Some((id, 4));
    assert_eq!(units(&store, LeaseRequest { unused, ..request(1, 1) }).await, 1);
    store.limits().give_back(id, 6).await.unwrap();
    // More than was leased cannot be given back.
    store.limits().give_back(id, 1).await.unwrap();
    let mut left = 0;
    while units(&store, request(1, 1)).await > 0 {
        left += 1;
    }
    assert_eq!(left, 9);
}

async fn a_small_rest_is_leased_in_small_parts(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut parts = Vec::new();
    loop {
        match units(&store, request(1000, 1)).await {
            0 => break,
            part => parts.push(part),
        }
    }
    assert_eq!(parts.iter().sum::<u32>(), 100);
    assert!(parts.len() < 40, "each is a commit: {parts:?}");
    assert!(parts[0] == 12 && parts.ends_with(&[1; 8]), "{parts:?}");
}
