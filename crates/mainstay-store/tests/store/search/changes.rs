//! How a replica follows a namespace that others change.

use std::sync::Arc;

use mainstay_store::{NewSearchDocument, SearchChanges};

use super::{COMMIT, NO_LIMITS, delete, document, names, namespace, page, put, put_all};
use crate::testing::TestDatabase;

on_both_engines![
    changes_are_listed_in_order_each_document_once,
    a_page_of_changes_ends_after_enough_bytes,
    a_namespace_that_is_made_again_is_read_anew,
    old_tombstones_are_forgotten_and_late_replicas_start_again,
];

async fn changes_are_listed_in_order_each_document_once(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(store.search().changes("notes", 0, 9).await.unwrap(), SearchChanges::NoNamespace);
    for (id, text) in [("a", "1"), ("b", "2"), ("c", "3")] {
        put(&store, id, text).await;
    }
    let seen = namespace(&store).await.version;
    assert!(page(&store, seen, 9).await.is_empty());
    put(&store, "a", "4").await;
    delete(&store, &["b"]).await;
    let changes = page(&store, seen, 9).await;
    assert_eq!(names(&changes), [("a", true), ("b", false)]);
    assert_eq!(changes[0].document.as_ref().map(|document| document.text.as_str()), Some("4"));
    assert_eq!((changes[0].version, changes[1].version), (seen + 1, seen + 2));
    let first = page(&store, 0, 2).await;
    assert_eq!(names(&first), [("c", true), ("a", true)]);
    assert_eq!(names(&page(&store, first[1].version, 2).await), [("b", false)]);
    // Of another namespace, and none of its business.
    store.search().put("other", vec![document("z", "z")], NO_LIMITS, 5, COMMIT).await.unwrap();
    assert_eq!(page(&store, 0, 9).await.len(), 3);
}

async fn a_page_of_changes_ends_after_enough_bytes(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let large =
        |id: &str, megabytes: usize| NewSearchDocument { prepared: vec![7; megabytes << 20], ..document(id, "text") };
    let all = vec![large("a", 7), large("b", 7), large("c", 7), large("d", 20), large("e", 1)];
    put_all(&store, all).await;
    let mut after = 0;
    let mut pages = Vec::new();
    loop {
        let changes = page(&store, after, 100).await;
        let Some(last) = changes.last() else { break };
        after = last.version;
        assert!(changes.iter().all(|change| change.document.as_ref().unwrap().prepared.len() >= 1 << 20));
        pages.push(changes.iter().map(|change| change.id.clone()).collect::<String>());
    }
    assert_eq!(pages, ["abc", "d", "e"], "each ends with the document that exceeds 16 MiB");
}

async fn a_namespace_that_is_made_again_is_read_anew(database: Arc<TestDatabase>) {
    let (store, replica) = (database.open().await, database.open().await);
    assert!(!store.search().delete_namespace("notes", COMMIT).await.unwrap());
    put_all(&store, vec![document("a", "one"), document("b", "two")]).await;
    let seen = namespace(&replica).await.version;
    assert!(store.search().delete_namespace("notes", COMMIT).await.unwrap());
    assert_eq!(replica.search().namespace("notes").await.unwrap(), None);
    assert_eq!(replica.search().changes("notes", seen, 9).await.unwrap(), SearchChanges::NoNamespace);
    assert!(replica.search().documents("notes", &["a".into()]).await.unwrap().is_empty());
    assert!(put(&store, "a", "three").await > seen);
    assert_eq!(replica.search().changes("notes", seen, 9).await.unwrap(), SearchChanges::Restart);
    assert_eq!(names(&page(&replica, 0, 9).await), [("a", true)], "version 0 lists everything");
    let now = namespace(&replica).await;
    assert_eq!((now.documents, now.tombstones), (1, 0));
    assert!(page(&replica, now.version, 9).await.is_empty());
}

async fn old_tombstones_are_forgotten_and_late_replicas_start_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    put(&store, "kept", "text").await;
    // As if 9,999 documents had been put and deleted; to do so takes many seconds in a build without optimisation.
    let (numbers, join) = (
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)",
        "FROM numbers, search_namespace WHERE name = 'notes'",
    );
    let columns = "namespace, id, version, path, tags, etag, chunks, bytes, updated_ms";
    database
        .sql(&format!(
            "INSERT INTO search_document ({columns}) {numbers} \
             SELECT name, 'gone-' || n, version + n, '', '[]', '', 0, 0, 1 {join}; \
             UPDATE search_namespace SET version = version + 9999, tombstones = 9999; \
             UPDATE search_head SET version = version + 9999"
        ))
        .await;
    let first = page(&store, 0, 2).await;
    assert_eq!(names(&first), [("kept", true), ("gone-1", false)]);
    let before = namespace(&store).await;
    put_all(&store, ["x", "y", "z"].map(|id| document(id, "text")).to_vec()).await;
    assert_eq!(delete(&store, &["x", "y", "z"]).await.deleted.len(), 3);
    // 10,002 deletions are two too many: those of gone-1 and gone-2.
    let after = namespace(&store).await;
    assert_eq!((after.documents, after.tombstones, before.pruned < after.pruned), (1, 10_000, true));
    assert_eq!(after.pruned, first[1].version + 1);
    let changes = |version| store.search().changes("notes", version, 1);
    assert_eq!(changes(first[1].version).await.unwrap(), SearchChanges::Restart);
    assert_eq!(names(&page(&store, after.pruned, 1).await), [("gone-3", false)]);
    assert_eq!(names(&page(&store, 0, 2).await), [("kept", true), ("gone-3", false)]);
}
