use std::sync::Arc;

use mainstay_store::{Session, StoreError};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    an_open_session_is_found_until_it_expires,
    an_id_that_is_in_use_is_rejected,
    of_many_sessions_with_one_id_at_once_one_is_opened,
    extending_keeps_a_session_alive,
    a_closed_session_is_gone,
    the_newest_sessions_of_a_principal_are_kept,
    only_sessions_that_have_not_expired_are_counted,
    sweeping_deletes_expired_sessions_only,
    any_text_is_read_unchanged,
];

fn session(id: &str, principal: &str, expires_ms: i64) -> Session {
    Session {
        id: id.into(),
        principal: principal.into(),
        dialect: "mcp".into(),
        state: r#"{"log":"debug"}"#.into(),
        created_ms: 10,
        expires_ms,
    }
}

async fn an_open_session_is_found_until_it_expires(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let opened = session("a", "ann", 100);
    store.sessions().open(opened.clone()).await.unwrap();
    assert_eq!(store.sessions().find("a", 99).await.unwrap(), Some(opened));
    assert_eq!(store.sessions().find("a", 100).await.unwrap(), None);
    assert_eq!(store.sessions().find("b", 99).await.unwrap(), None);
}

async fn an_id_that_is_in_use_is_rejected(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.sessions().open(session("a", "ann", 100)).await.unwrap();
    let rejected = store.sessions().open(session("a", "bob", 200)).await.unwrap_err();
    assert!(matches!(&rejected, StoreError::Failed(why) if why.contains("exists already")), "{rejected}");
    assert_eq!(store.sessions().find("a", 0).await.unwrap().unwrap().principal, "ann");
    assert!(!store.failing());
}

async fn of_many_sessions_with_one_id_at_once_one_is_opened(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let opened = at_once(50, |number| {
        let store = store.clone();
        async move { store.sessions().open(session("a", &format!("p{number}"), 100)).await.is_ok() }
    });
    assert_eq!(opened.await.into_iter().filter(|opened| *opened).count(), 1);
}

async fn extending_keeps_a_session_alive(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.sessions().open(session("a", "ann", 100)).await.unwrap();
    assert!(store.sessions().extend("a", 500).await.unwrap());
    assert!(!store.sessions().extend("b", 500).await.unwrap());
    assert_eq!(store.sessions().find("a", 499).await.unwrap().unwrap().expires_ms, 500);
}

async fn a_closed_session_is_gone(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.sessions().open(session("a", "ann", 100)).await.unwrap();
    assert!(store.sessions().close("a").await.unwrap());
    assert!(!store.sessions().close("a").await.unwrap());
    assert!(!store.sessions().extend("a", 500).await.unwrap());
    assert_eq!(store.sessions().find("a", 0).await.unwrap(), None);
}

async fn the_newest_sessions_of_a_principal_are_kept(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (id, principal, expires_ms) in [("a", "ann", 300), ("b", "ann", 100), ("c", "ann", 200), ("d", "bob", 50)] {
        store.sessions().open(session(id, principal, expires_ms)).await.unwrap();
    }
    assert_eq!(store.sessions().keep_newest("ann", 3).await.unwrap(), 0);
    assert_eq!(store.sessions().keep_newest("ann", 2).await.unwrap(), 1);
    assert_eq!(store.sessions().find("b", 0).await.unwrap(), None);
    for (id, expires_ms) in [("e", 300), ("f", 300), ("g", 300)] {
        store.sessions().open(session(id, "ann", expires_ms)).await.unwrap();
    }
    assert_eq!(store.sessions().keep_newest("ann", 2).await.unwrap(), 3, "as many, if they expire together");
    assert_eq!(store.sessions().count(Some("ann"), 0).await.unwrap(), 2);
    assert_eq!(store.sessions().count(Some("bob"), 0).await.unwrap(), 1);
}

async fn only_sessions_that_have_not_expired_are_counted(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (id, principal, expires_ms) in [("a", "ann", 100), ("b", "ann", 200), ("c", "bob", 300)] {
        store.sessions().open(session(id, principal, expires_ms)).await.unwrap();
    }
    assert_eq!(store.sessions().count(None, 50).await.unwrap(), 3);
    assert_eq!(store.sessions().count(None, 100).await.unwrap(), 2);
    assert_eq!(store.sessions().count(Some("ann"), 50).await.unwrap(), 2);
    assert_eq!(store.sessions().count(Some("ann"), 200).await.unwrap(), 0);
    assert_eq!(store.sessions().count(Some("nobody"), 0).await.unwrap(), 0);
}

async fn sweeping_deletes_expired_sessions_only(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (id, expires_ms) in [("a", 100), ("b", 101), ("c", 99)] {
        store.sessions().open(session(id, "ann", expires_ms)).await.unwrap();
    }
    assert_eq!(store.sweep(100).await.unwrap(), 2);
    assert_eq!(store.sweep(100).await.unwrap(), 0);
    assert!(store.sessions().find("b", 100).await.unwrap().is_some());
    assert_eq!(store.sessions().find("a", 0).await.unwrap(), None);
}

async fn any_text_is_read_unchanged(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for text in ["", "'; DROP TABLE session; --", "ø 漢字 🦀 \u{202e}", "%_\\\"", &"x".repeat(1_000_000)] {
        let id = format!("id-{}-{text}", text.len()).chars().take(100).collect::<String>();
        // A principal is in an index, whose entries cannot be a megabyte.
        let principal = text.chars().take(100).collect();
        let opened = Session { state: text.into(), principal, ..session(&id, "", 100) };
        store.sessions().open(opened.clone()).await.unwrap();
        assert_eq!(store.sessions().find(&id, 0).await.unwrap(), Some(opened));
    }
}
