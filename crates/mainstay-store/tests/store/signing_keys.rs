use std::sync::Arc;

use mainstay_store::SigningKey;

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    replicas_that_start_at_once_use_the_same_key,
    a_replaced_key_is_valid_until_it_expires_and_is_then_deleted,
    keys_that_expire_at_once_are_all_invalid,
    a_key_with_an_existing_id_is_rejected_and_the_one_in_use_stays,
];

fn key(id: &str, created_ms: i64) -> SigningKey {
    SigningKey { id: id.into(), pkcs8: vec![0, 255, 7], created_ms, expires_ms: None }
}

async fn replicas_that_start_at_once_use_the_same_key(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let begun = at_once(50, |number| {
        let store = stores[number % 2].clone();
        async move { store.oauth().start_signing_key(key(&format!("k{number}"), 10)).await.unwrap() }
    })
    .await;
    assert_eq!(begun.iter().filter(|begun| **begun).count(), 1);
    let [one, two] = &stores;
    let live = one.oauth().signing_keys(10).await.unwrap();
    assert!(live.len() == 1 && live == two.oauth().signing_keys(10).await.unwrap());
}

async fn a_replaced_key_is_valid_until_it_expires_and_is_then_deleted(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(store.oauth().start_signing_key(key("a", 10)).await.unwrap());
    store.oauth().rotate_signing_key(key("b", 20), 100).await.unwrap();
    store.oauth().rotate_signing_key(key("c", 30), 200).await.unwrap();
    let live = async |now_ms| {
        let keys = store.oauth().signing_keys(now_ms).await.unwrap();
        keys.into_iter().map(|key| (key.id, key.expires_ms)).collect::<Vec<_>>()
    };
    assert_eq!(live(99).await, [("c".into(), None), ("b".into(), Some(200)), ("a".into(), Some(100))]);
    assert_eq!(live(100).await, [("c".into(), None), ("b".into(), Some(200))]);
    assert_eq!(store.sweep(100).await.unwrap(), 1);
    assert_eq!(live(0).await.len(), 2);
    store.close().await.unwrap();
    let store = database.open().await;
    assert!(store.oauth().signing_keys(300).await.unwrap() == [key("c", 30)]);
}

async fn keys_that_expire_at_once_are_all_invalid(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(store.oauth().start_signing_key(key("a", 10)).await.unwrap());
    store.oauth().rotate_signing_key(key("b", 20), 100).await.unwrap();
    store.oauth().rotate_signing_key(key("c", 30), 30).await.unwrap();
    assert!(store.oauth().signing_keys(30).await.unwrap() == [key("c", 30)]);
}

async fn a_key_with_an_existing_id_is_rejected_and_the_one_in_use_stays(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(store.oauth().start_signing_key(key("a", 10)).await.unwrap());
    assert!(!store.oauth().start_signing_key(key("b", 20)).await.unwrap());
    assert!(store.oauth().rotate_signing_key(key("a", 20), 100).await.is_err());
    assert!(store.oauth().signing_keys(20).await.unwrap() == [key("a", 10)]);
}

/// Which of the two methods a call finds depends on whether the value can be formatted.
struct Probe<T>(T);

trait Formatted {
    fn formatted(&self) -> String;
}

impl<T: std::fmt::Debug> Formatted for Probe<T> {
    fn formatted(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl<T> Formatted for &Probe<T> {
    fn formatted(&self) -> String {
        "hidden".into()
    }
}

#[test]
fn a_private_key_is_not_shown() {
    let (key, id) = (&Probe(key("a", 10)), &Probe(7));
    assert_eq!((key.formatted(), id.formatted()), ("hidden".into(), "7".into()));
}
