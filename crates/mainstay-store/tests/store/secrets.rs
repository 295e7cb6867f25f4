use std::sync::Arc;

use crate::testing::{TestDatabase, at_once};

on_both_engines![a_secret_keeps_its_first_value, replicas_that_need_a_secret_at_once_get_the_same_one,];

async fn a_secret_keeps_its_first_value(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let first = vec![0, 255, 7];
    assert_eq!(store.secrets().secret("signing", first.clone()).await.unwrap(), first);
    assert_eq!(store.secrets().secret("other", vec![1]).await.unwrap(), [1]);
    store.close().await.unwrap();
    let store = database.open().await;
    assert_eq!(store.secrets().secret("signing", vec![9]).await.unwrap(), first);
}

async fn replicas_that_need_a_secret_at_once_get_the_same_one(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let mut secrets = at_once(50, |number| {
        let store = stores[number % 2].clone();
        async move { store.secrets().secret("signing", number.to_be_bytes().to_vec()).await.unwrap() }
    })
    .await;
    secrets.dedup();
    assert_eq!(secrets.len(), 1);
}
