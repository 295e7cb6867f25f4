use std::sync::Arc;

use mainstay_store::{Client, RefreshToken, Rotation, StoreError};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    clients_are_stored_and_listed,
    a_client_id_that_is_in_use_is_rejected,
    disabling_a_client_revokes_its_tokens,
    a_disabled_client_is_issued_nothing,
    a_rotated_refresh_token_keeps_subject_and_scopes,
    a_refresh_token_is_found_by_its_own_client_only,
    reuse_revokes_the_whole_family,
    an_expired_revoked_or_unknown_token_is_unknown,
    the_token_of_another_client_is_unknown_and_stays_valid,
    a_successor_that_exists_is_rejected_and_nothing_is_spent,
    of_many_rotations_at_once_one_succeeds_and_the_family_is_revoked,
    a_revoked_access_token_is_remembered_until_it_expires,
    sweeping_deletes_expired_tokens,
];

fn client(id: &str, created_ms: i64) -> Client {
    Client {
        id: id.into(),
        name: format!("Client {id}"),
        secret_hash: "$argon2id$…".into(),
        scopes: "read write".into(),
        created_ms,
        disabled: false,
    }
}

fn token(family: &str) -> RefreshToken {
    RefreshToken {
        family: family.into(),
        client: "app".into(),
        subject: "ann".into(),
        scopes: "read".into(),
        expires_ms: 100,
    }
}

fn stood_for(family: &str, expires_ms: i64) -> Rotation {
    Rotation::Rotated(RefreshToken { expires_ms, ..token(family) })
}

async fn clients_are_stored_and_listed(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (id, created_ms) in [("b", 10), ("A", 20), ("a", 10)] {
        store.oauth().add_client(client(id, created_ms)).await.unwrap();
    }
    assert_eq!(store.oauth().client("b").await.unwrap(), Some(client("b", 10)));
    assert_eq!(store.oauth().client("B").await.unwrap(), None);
    assert_eq!(store.oauth().clients().await.unwrap(), [client("a", 10), client("b", 10), client("A", 20)]);
}

async fn a_client_id_that_is_in_use_is_rejected(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().add_client(client("a", 10)).await.unwrap();
    let rejected = store.oauth().add_client(client("a", 20)).await.unwrap_err();
    assert!(matches!(&rejected, StoreError::Failed(why) if why.contains("exists already")), "{rejected}");
    assert_eq!(store.oauth().client("a").await.unwrap(), Some(client("a", 10)));
}

async fn disabling_a_client_revokes_its_tokens(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().add_client(client("app", 10)).await.unwrap();
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    store.oauth().issue_refresh("t2", RefreshToken { client: "other".into(), ..token("f2") }, 10).await.unwrap();
    assert!(store.oauth().disable_client("app").await.unwrap());
    assert!(!store.oauth().disable_client("nobody").await.unwrap());
    assert!(store.oauth().client("app").await.unwrap().unwrap().disabled);
    assert_eq!(store.oauth().rotate_refresh("t1", "app", "t3", 20, 200).await.unwrap(), Rotation::Unknown);
    let other = store.oauth().rotate_refresh("t2", "other", "t4", 20, 200).await.unwrap();
    assert!(matches!(other, Rotation::Rotated(_)), "{other:?}");
}

async fn a_disabled_client_is_issued_nothing(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().add_client(Client { disabled: true, ..client("app", 10) }).await.unwrap();
    assert!(store.oauth().issue_refresh("t1", token("f1"), 10).await.is_err());
    assert_eq!(store.oauth().rotate_refresh("t1", "app", "t2", 20, 200).await.unwrap(), Rotation::Unknown);
}

async fn a_rotated_refresh_token_keeps_subject_and_scopes(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    assert_eq!(store.oauth().rotate_refresh("t1", "app", "t2", 20, 300).await.unwrap(), stood_for("f1", 100));
    assert_eq!(store.oauth().rotate_refresh("t2", "app", "t3", 299, 900).await.unwrap(), stood_for("f1", 300));
}

async fn a_refresh_token_is_found_by_its_own_client_only(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    let found = store.oauth().refresh("t1", "app").await.unwrap().map(Rotation::Rotated);
    assert_eq!(found, Some(stood_for("f1", 100)));
    assert_eq!(store.oauth().refresh("t1", "thief").await.unwrap(), None);
    assert_eq!(store.oauth().refresh("never", "app").await.unwrap(), None);
}

async fn reuse_revokes_the_whole_family(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    store.oauth().issue_refresh("u1", token("f2"), 10).await.unwrap();
    store.oauth().rotate_refresh("t1", "app", "t2", 20, 300).await.unwrap();
    // Even after it would have expired.
    let reused = store.oauth().rotate_refresh("t1", "app", "t9", 150, 300).await.unwrap();
    assert_eq!(reused, Rotation::Reused { family: "f1".into() });
    assert!(
        store.oauth().is_access_revoked("f1").await.unwrap() && !store.oauth().is_access_revoked("f2").await.unwrap()
    );
    assert_eq!(store.oauth().rotate_refresh("t2", "app", "t3", 30, 300).await.unwrap(), Rotation::Unknown);
    assert_eq!(store.oauth().rotate_refresh("u1", "app", "u2", 30, 300).await.unwrap(), stood_for("f2", 100));
}

async fn an_expired_revoked_or_unknown_token_is_unknown(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    store.oauth().issue_refresh("u1", token("f2"), 10).await.unwrap();
    store.oauth().revoke_family("f2", 500).await.unwrap();
    store.oauth().revoke_family("no such family", 500).await.unwrap();
    for (hash, now_ms) in [("t1", 100), ("u1", 20), ("never", 20)] {
        let rotation = store.oauth().rotate_refresh(hash, "app", "x", now_ms, 300).await.unwrap();
        assert_eq!(rotation, Rotation::Unknown, "{hash}");
    }
    // The access tokens of the family are revoked with it.
    assert!(
        store.oauth().is_access_revoked("f2").await.unwrap() && !store.oauth().is_access_revoked("f1").await.unwrap()
    );
}

async fn the_token_of_another_client_is_unknown_and_stays_valid(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    assert_eq!(store.oauth().rotate_refresh("t1", "thief", "x", 20, 300).await.unwrap(), Rotation::Unknown);
    assert_eq!(store.oauth().rotate_refresh("t1", "app", "t2", 20, 300).await.unwrap(), stood_for("f1", 100));
    // Nor can another client get the family revoked by sending a spent token.
    assert_eq!(store.oauth().rotate_refresh("t1", "thief", "x", 20, 300).await.unwrap(), Rotation::Unknown);
    assert_eq!(store.oauth().rotate_refresh("t2", "app", "t3", 20, 300).await.unwrap(), stood_for("f1", 300));
}

async fn a_successor_that_exists_is_rejected_and_nothing_is_spent(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    store.oauth().issue_refresh("u1", token("f2"), 10).await.unwrap();
    assert!(store.oauth().issue_refresh("t1", token("f3"), 10).await.is_err());
    assert!(store.oauth().rotate_refresh("t1", "app", "u1", 20, 300).await.is_err());
    assert_eq!(store.oauth().rotate_refresh("t1", "app", "t2", 20, 300).await.unwrap(), stood_for("f1", 100));
}

async fn of_many_rotations_at_once_one_succeeds_and_the_family_is_revoked(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    stores[0].oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    let rotations = at_once(100, |number| {
        let store = stores[number % 2].clone();
        async move { store.oauth().rotate_refresh("t1", "app", &format!("s{number}"), 20, 300).await.unwrap() }
    });
    let rotations = rotations.await;
    let winner = rotations.iter().position(|rotation| *rotation == stood_for("f1", 100)).unwrap();
    let reused = Rotation::Reused { family: "f1".into() };
    assert_eq!(rotations.iter().filter(|rotation| **rotation == reused).count(), 99);
    let after = stores[1].oauth().rotate_refresh(&format!("s{winner}"), "app", "x", 30, 300).await.unwrap();
    assert_eq!(after, Rotation::Unknown);
}

async fn a_revoked_access_token_is_remembered_until_it_expires(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert!(!store.oauth().is_access_revoked("j").await.unwrap());
    store.oauth().revoke_access("j", 200).await.unwrap();
    store.oauth().revoke_access("j", 100).await.unwrap();
    assert!(store.oauth().is_access_revoked("j").await.unwrap());
    assert_eq!(store.sweep(199).await.unwrap(), 0);
    assert_eq!(store.sweep(200).await.unwrap(), 1);
    assert!(!store.oauth().is_access_revoked("j").await.unwrap());
}

async fn sweeping_deletes_expired_tokens(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.oauth().issue_refresh("t1", token("f1"), 10).await.unwrap();
    store.oauth().issue_refresh("t2", RefreshToken { expires_ms: 900, ..token("f2") }, 10).await.unwrap();
    store.oauth().revoke_access("j", 100).await.unwrap();
    assert_eq!(store.sweep(100).await.unwrap(), 2);
    assert_eq!(store.oauth().rotate_refresh("t2", "app", "t3", 200, 900).await.unwrap(), stood_for("f2", 900));
}
