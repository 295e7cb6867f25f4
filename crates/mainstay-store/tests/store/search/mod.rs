//! Documents of namespaces: stored, replaced, deleted and followed by replicas.

mod candidates;
mod changes;

use std::sync::Arc;

use mainstay_store::{
    DeleteOutcome, MAX_NAME_BYTES, NewSearchDocument, PutOutcome, SearchChange, SearchChanges, SearchChunk,
    SearchLimit, SearchLimits, SearchNamespace, Store, StoreError, WriteMode,
};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    documents_are_found_as_they_were_put,
    a_document_that_is_put_again_unchanged_gets_no_new_version,
    of_documents_with_one_id_the_last_is_stored,
    a_limit_refuses_the_whole_put,
    a_namespace_over_a_lowered_limit_may_shrink,
    names_that_are_too_long_are_refused,
    values_that_an_engine_cannot_hold_are_refused,
    deleted_documents_are_gone_and_missing_ids_are_named,
    a_dry_run_changes_nothing,
    many_puts_of_two_replicas_get_versions_of_their_own,
    what_was_acknowledged_is_found_after_reopening,
    documents_count_in_the_sizes,
];

const COMMIT: WriteMode = WriteMode::Commit;
const NO_LIMITS: SearchLimits = SearchLimits { documents: u64::MAX, bytes: u64::MAX, namespaces: u64::MAX };

fn document(id: &str, text: &str) -> NewSearchDocument {
    NewSearchDocument {
        id: id.into(),
        path: format!("notes/{id}"),
        text: text.into(),
        tags: vec!["ä \"quoted\"".into()],
        etag: format!("etag of {text}"),
        prepared: vec![0, 255, 7],
        versions: vec![1],
        chunks: vec![SearchChunk { words: vec!["note".into()], vector: vec![1.0, 0.0] }],
    }
}

async fn put_all(store: &Store, documents: Vec<NewSearchDocument>) -> PutOutcome {
    store.search().put("notes", documents, NO_LIMITS, 5, COMMIT).await.unwrap()
}

/// Puts one document, and resolves with the namespace's version.
async fn put(store: &Store, id: &str, text: &str) -> i64 {
    let outcome = put_all(store, vec![document(id, text)]).await;
    let PutOutcome::Stored { version, .. } = outcome else { panic!("{outcome:?}") };
    version
}

async fn delete(store: &Store, ids: &[&str]) -> DeleteOutcome {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    store.search().delete("notes", ids, 6, COMMIT).await.unwrap()
}

async fn namespace(store: &Store) -> SearchNamespace {
    store.search().namespace("notes").await.unwrap().unwrap()
}

async fn page(store: &Store, after: i64, limit: u32) -> Vec<SearchChange> {
    let read = store.search().changes("notes", after, limit).await.unwrap();
    let SearchChanges::Page { changes, .. } = read else { panic!("{read:?}") };
    changes
}

fn names(changes: &[SearchChange]) -> Vec<(&str, bool)> {
    changes.iter().map(|change| (change.id.as_str(), change.document.is_some())).collect()
}

async fn documents_are_found_as_they_were_put(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(store.search().namespace("notes").await.unwrap(), None);
    let outcome = put_all(&store, vec![document("a", "it's one"), document("b", "")]).await;
    let PutOutcome::Stored { version, added: 2, replaced: 0, unchanged: 0 } = outcome else { panic!("{outcome:?}") };
    let ids = ["b", "gone", "a"].map(str::to_owned);
    let found = store.search().documents("notes", &ids).await.unwrap();
    assert_eq!(found.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["b", "a"], "in the order of the ids");
    let (stored, new) = (&found[1], document("a", "it's one"));
    assert_eq!((&stored.path, &stored.text, &stored.tags, &stored.etag), (&new.path, &new.text, &new.tags, &new.etag));
    assert_eq!((&stored.prepared, &stored.versions), (&new.prepared, &new.versions));
    assert_eq!((stored.chunks, stored.updated_ms, found[0].text.as_str()), (1, 5, ""));
    let notes = namespace(&store).await;
    assert_eq!((notes.version, notes.documents, notes.chunks, notes.tombstones), (version, 2, 2, 0));
    assert_eq!((notes.created_ms, notes.updated_ms), (5, 5));
    store.search().put("other", Vec::new(), NO_LIMITS, 5, COMMIT).await.unwrap();
    let all = store.search().namespaces().await.unwrap();
    assert_eq!(all.iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), ["notes", "other"]);
    assert!(store.search().documents("other", &ids).await.unwrap().is_empty(), "namespaces are apart");
}

async fn a_document_that_is_put_again_unchanged_gets_no_new_version(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let first = put(&store, "a", "one").await;
    let before = namespace(&store).await;
    let again = put_all(&store, vec![document("a", "one")]).await;
    assert_eq!(again, PutOutcome::Stored { version: first, added: 0, replaced: 0, unchanged: 1 });
    assert_eq!(namespace(&store).await, before);
    let changed: [fn(&mut NewSearchDocument); 4] = [
        |new| new.etag.push('2'),
        |new| new.path.push('2'),
        |new| new.tags.push("2".into()),
        |new| new.versions.push(2),
    ];
    let mut last = first;
    for change in changed {
        let mut new = document("a", "one");
        change(&mut new);
        let outcome = put_all(&store, vec![new]).await;
        let PutOutcome::Stored { version, added: 0, replaced: 1, unchanged: 0 } = outcome else {
            panic!("{outcome:?}")
        };
        assert!(version > last);
        last = version;
    }
    assert_eq!(namespace(&store).await.documents, 1);
}

async fn of_documents_with_one_id_the_last_is_stored(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let outcome = put_all(&store, vec![document("a", "one"), document("b", "x"), document("a", "two")]).await;
    assert!(matches!(outcome, PutOutcome::Stored { added: 2, replaced: 0, .. }), "{outcome:?}");
    assert_eq!(store.search().documents("notes", &["a".into()]).await.unwrap()[0].text, "two");
    assert_eq!(namespace(&store).await.documents, 2);
}

async fn a_limit_refuses_the_whole_put(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let first = put(&store, "a", "one").await;
    let before = namespace(&store).await;
    let attempt = |name: &'static str, ids: &[&str], limits| {
        let documents = ids.iter().map(|id| document(id, "text")).collect();
        let store = store.clone();
        async move { store.search().put(name, documents, limits, 6, COMMIT).await.unwrap() }
    };
    let refused = attempt("notes", &["b", "c"], SearchLimits { documents: 2, ..NO_LIMITS }).await;
    assert_eq!(refused, PutOutcome::OverLimit { limit: SearchLimit::Documents, most: 2, needed: 3 });
    let most = before.bytes + 10;
    let refused = attempt("notes", &["b"], SearchLimits { bytes: most, ..NO_LIMITS }).await;
    let PutOutcome::OverLimit { limit: SearchLimit::Bytes, most: said, needed } = refused else {
        panic!("{refused:?}")
    };
    assert!(said == most && needed > most, "{said} {needed}");
    let refused = attempt("other", &["b"], SearchLimits { namespaces: 1, ..NO_LIMITS }).await;
    assert_eq!(refused, PutOutcome::OverLimit { limit: SearchLimit::Namespaces, most: 1, needed: 2 });
    assert_eq!(store.search().namespaces().await.unwrap(), [before], "nothing was stored");
    let stored = attempt("notes", &["b"], SearchLimits { documents: 2, bytes: needed, namespaces: 1 }).await;
    assert!(matches!(stored, PutOutcome::Stored { version, added: 1, .. } if version > first), "{stored:?}");
}

async fn a_namespace_over_a_lowered_limit_may_shrink(database: Arc<TestDatabase>) {
    let store = database.open().await;
    put_all(&store, vec![document("a", &"long ".repeat(100)), document("b", "b")]).await;
    let limits = SearchLimits { documents: 1, bytes: 10, namespaces: 0 };
    let put = |text| store.search().put("notes", vec![document("a", text)], limits, 6, COMMIT);
    let before = namespace(&store).await.bytes;
    let outcome = put("short").await.unwrap();
    assert!(matches!(outcome, PutOutcome::Stored { replaced: 1, .. }), "{outcome:?}");
    assert!(namespace(&store).await.bytes < before);
    let outcome = put("longer again").await.unwrap();
    assert!(matches!(outcome, PutOutcome::OverLimit { limit: SearchLimit::Bytes, .. }), "{outcome:?}");
}

async fn names_that_are_too_long_are_refused(database: Arc<TestDatabase>) {
    let store = database.open().await;
    // Not to be compressed, so that the index has all of it.
    let name: String = (0..u32::MAX)
        .flat_map(|n| format!("{:x}", n.wrapping_mul(2_654_435_769)).into_bytes())
        .map(char::from)
        .take(MAX_NAME_BYTES)
        .collect();
    let search = store.search();
    let outcome = search.put(&name, vec![document(&name, "t")], NO_LIMITS, 5, COMMIT).await.unwrap();
    assert!(matches!(outcome, PutOutcome::Stored { added: 1, .. }), "{outcome:?}");
    let long = format!("{name}x");
    let refused = PutOutcome::NameTooLong { name: long.clone() };
    assert_eq!(search.put("notes", vec![document(&long, "t")], NO_LIMITS, 5, COMMIT).await.unwrap(), refused);
    assert_eq!(search.put(&long, Vec::new(), NO_LIMITS, 5, COMMIT).await.unwrap(), refused);
    assert_eq!(search.namespaces().await.unwrap().len(), 1);
}

async fn values_that_an_engine_cannot_hold_are_refused(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let with_chunk = |words: &[&str], vector: Vec<f32>| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        NewSearchDocument { chunks: vec![SearchChunk { words, vector }], ..document("a", "text") }
    };
    let invalid = Some(StoreError::InvalidVector);
    for vector in [vec![1.0, f32::NAN], vec![f32::INFINITY], vec![f32::NEG_INFINITY], vec![0.5; 16_001]] {
        let put = store.search().put("notes", vec![with_chunk(&[], vector.clone())], NO_LIMITS, 5, COMMIT).await;
        assert_eq!(put.err(), invalid);
        assert_eq!(store.search().candidates("notes", Some(&vector), &[], 1).await.err(), invalid);
    }
    for document in [document("a\0", "text"), document("a", "te\0xt"), with_chunk(&["no\0te"], vec![1.0])] {
        let put = store.search().put("notes", vec![document], NO_LIMITS, 5, COMMIT).await;
        assert_eq!(put.err(), Some(StoreError::Nul));
    }
    assert_eq!(store.search().delete("notes", vec!["\0".into()], 5, COMMIT).await.unwrap().missing.len(), 1);
    assert_eq!(store.search().namespaces().await.unwrap(), [], "nothing was stored");
    // These are unusual, and can be held.
    let odd = ["", "'", "\\", "a'b\\c & d | !e", "\u{1f980}", &"é".repeat(10_000)];
    for vector in [vec![], vec![0.0, 0.0], vec![f32::MIN_POSITIVE / 4.0, f32::MAX]] {
        let put = store.search().put("notes", vec![with_chunk(&odd, vector)], NO_LIMITS, 5, COMMIT).await;
        assert!(matches!(put.unwrap(), PutOutcome::Stored { .. }));
        store.search().delete_namespace("notes", COMMIT).await.unwrap();
    }
    assert!(!store.failing());
}

async fn deleted_documents_are_gone_and_missing_ids_are_named(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let nothing = delete(&store, &["a"]).await;
    assert_eq!(nothing, DeleteOutcome { version: 0, deleted: vec![], missing: vec!["a".into()] });
    let before = put_all(&store, ["a", "b", "c"].map(|id| document(id, "text")).to_vec()).await;
    let PutOutcome::Stored { version: before, .. } = before else { panic!("{before:?}") };
    let bytes = namespace(&store).await.bytes;
    let outcome = delete(&store, &["c", "x", "a", "c"]).await;
    assert_eq!((outcome.deleted, outcome.missing), (vec!["c".into(), "a".into()], vec!["x".into()]));
    assert_eq!(outcome.version, before + 2);
    let left = namespace(&store).await;
    assert_eq!((left.documents, left.chunks, left.tombstones, left.bytes), (1, 1, 2, bytes / 3));
    assert_eq!((left.version, left.updated_ms), (before + 2, 6));
    assert!(store.search().documents("notes", &["a".into(), "c".into()]).await.unwrap().is_empty());
    let again = delete(&store, &["a"]).await;
    assert_eq!(again, DeleteOutcome { version: before + 2, deleted: vec![], missing: vec!["a".into()] });
    // The same content again: it is not taken for unchanged.
    let outcome = put_all(&store, vec![document("a", "text")]).await;
    assert_eq!(outcome, PutOutcome::Stored { version: before + 3, added: 1, replaced: 0, unchanged: 0 });
    assert_eq!((namespace(&store).await.documents, namespace(&store).await.tombstones), (2, 1));
}

async fn a_dry_run_changes_nothing(database: Arc<TestDatabase>) {
    let store = database.open().await;
    put(&store, "a", "one").await;
    let before = (namespace(&store).await, page(&store, 0, 9).await);
    let dry = WriteMode::DryRun;
    let outcome = store.search().put("notes", vec![document("b", "two")], NO_LIMITS, 6, dry).await.unwrap();
    assert!(matches!(outcome, PutOutcome::Stored { added: 1, .. }), "{outcome:?}");
    assert_eq!(store.search().delete("notes", vec!["a".into()], 6, dry).await.unwrap().deleted, ["a"]);
    assert!(store.search().delete_namespace("notes", dry).await.unwrap());
    assert_eq!((namespace(&store).await, page(&store, 0, 9).await), before);
}

async fn many_puts_of_two_replicas_get_versions_of_their_own(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let outcomes = at_once(200, |number| {
        let store = stores[number % 2].clone();
        // Half of them are for documents that others put, too.
        let id = if number < 100 { format!("own-{number}") } else { format!("shared-{}", number % 10) };
        async move { (number, put(&store, &id, &format!("text {number}")).await) }
    });
    let mut versions: Vec<i64> = outcomes.await.into_iter().map(|(_, version)| version).collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 200, "no two changes have the same version");
    for store in &stores {
        let found = namespace(store).await;
        assert_eq!((found.documents, found.chunks, found.version), (110, 110, versions[199]));
        let changes = page(store, 0, 1000).await;
        assert!(changes.is_sorted_by(|one, next| one.version < next.version));
        let texts: u64 = changes.iter().map(|change| change.document.as_ref().unwrap().text.len() as u64).sum();
        assert!(changes.len() == 110 && found.bytes > texts);
    }
}

async fn what_was_acknowledged_is_found_after_reopening(database: Arc<TestDatabase>) {
    let store = database.open().await;
    put(&store, "a", "one").await;
    put(&store, "b", "two").await;
    delete(&store, &["b"]).await;
    let before = (namespace(&store).await, page(&store, 0, 9).await);
    store.close().await.unwrap();
    assert_eq!(store.search().namespaces().await.err(), Some(StoreError::Closed));
    let store = database.open().await;
    assert_eq!((namespace(&store).await, page(&store, 0, 9).await), before);
    assert!(put(&store, "c", "three").await > before.0.version);
}

async fn documents_count_in_the_sizes(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let size =
        || async { store.sizes().await.unwrap().topics.into_iter().find(|(topic, _)| *topic == "search").unwrap().1 };
    let before = size().await;
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    let large = NewSearchDocument { prepared: (0..200_000).map(|_| noise()).collect(), ..document("a", "text") };
    put_all(&store, vec![large]).await;
    // A little of it has room in pages that were there before.
    assert!(size().await > before + 190_000);
}
