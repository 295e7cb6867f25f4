//! Candidates for a search, which PostgreSQL with pgvector finds by itself.

use std::sync::Arc;

use mainstay_store::{NewSearchDocument, SearchCandidates, SearchChunk, Store, WordFrequency};

use super::{COMMIT, NO_LIMITS, delete, document, put_all};
use crate::testing::{TestDatabase, at_once, on_sqlite};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A document with a chunk for each of the words and vectors.
fn chunked(id: &str, chunks: &[(&str, &[f32])]) -> NewSearchDocument {
    let chunk = |(text, vector): &(&str, &[f32])| SearchChunk { words: words(text), vector: vector.to_vec() };
    NewSearchDocument { chunks: chunks.iter().map(chunk).collect(), ..document(id, id) }
}

async fn search_words(store: &Store, vector: Option<&[f32]>, words: &[String], limit: u32) -> SearchCandidates {
    let found = store.search().candidates("notes", vector, words, limit).await.unwrap();
    found.unwrap_or_else(|| panic!("the PostgreSQL server of the tests needs the extension pgvector"))
}

async fn search(store: &Store, vector: Option<&[f32]>, text: &str, limit: u32) -> SearchCandidates {
    search_words(store, vector, &words(text), limit).await
}

async fn found(store: &Store, vector: Option<&[f32]>, text: &str, limit: u32) -> Vec<String> {
    search(store, vector, text, limit).await.documents.into_iter().map(|document| document.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_has_no_candidates() {
    on_sqlite(|database| async move {
        let store = database.open().await;
        put_all(&store, vec![document("a", "one")]).await;
        assert_eq!(store.search().candidates("notes", Some(&[1.0, 0.0]), &words("note"), 9).await.unwrap(), None);
    })
    .await;
}

/// Cases that only PostgreSQL has.
macro_rules! on_postgres_alone {
    ($($case:ident),* $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::testing::on_postgres(super::$case).await;
            })*
        }
    };
}

on_postgres_alone![
    documents_are_found_by_vector_and_by_words,
    a_rare_word_decides_among_common_ones,
    vectors_of_other_dimensions_are_left_out,
    words_are_found_whatever_characters_they_have,
    replaced_and_deleted_documents_are_no_candidates,
    replicas_that_start_at_once_make_one_table,
    without_pgvector_everything_else_works_and_chunks_follow_later,
];

async fn documents_are_found_by_vector_and_by_words(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(search(&store, Some(&[1.0]), "x", 9).await, SearchCandidates::default(), "no such namespace");
    let documents = vec![
        chunked("near", &[("cat", &[0.0, 1.0]), ("dog", &[0.9, 0.1])]),
        chunked("far", &[("dog dog", &[-1.0, 0.0])]),
        chunked("word", &[("zebra dog", &[-0.9, 0.1]), ("zebra", &[])]),
        chunked("empty", &[]),
    ];
    put_all(&store, documents).await;
    store.search().put("other", vec![chunked("o", &[("zebra", &[1.0, 0.0])])], NO_LIMITS, 5, COMMIT).await.unwrap();
    assert_eq!(found(&store, Some(&[1.0, 0.0]), "", 1).await, ["near"]);
    assert_eq!(found(&store, None, "zebra", 1).await, ["word"]);
    assert_eq!(found(&store, Some(&[1.0, 0.0]), "zebra", 1).await, ["near", "word"], "the best of each");
    assert_eq!(found(&store, Some(&[0.0, 0.0]), "", 9).await, [""; 0], "a vector without direction is near nothing");
    assert_eq!(found(&store, Some(&[1.0, 0.0]), "unknown", 9).await, ["near", "word", "far"]);
    let all = search(&store, None, "zebra dog zebra unknown", 9).await;
    assert_eq!((all.total_documents, all.total_chunks), (4, 5));
    let frequency = |word: &str, documents, chunks| WordFrequency { word: word.into(), documents, chunks };
    assert_eq!(all.frequencies, [frequency("zebra", 1, 2), frequency("dog", 3, 3), frequency("unknown", 0, 0)]);
    let document = &all.documents[0];
    assert_eq!((document.id.as_str(), document.text.as_str(), document.chunks), ("word", "word", 2));
    assert_eq!(document.prepared, [0, 255, 7]);
}

async fn a_rare_word_decides_among_common_ones(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut documents: Vec<_> = (0..50).map(|number| chunked(&format!("a{number}"), &[("the of", &[])])).collect();
    documents.push(chunked("rare", &[("axolotl", &[])]));
    put_all(&store, documents).await;
    assert_eq!(found(&store, None, "the of axolotl", 1).await, ["rare"]);
    let more = found(&store, None, "the of axolotl", 9).await;
    assert_eq!((more.len(), more[0].as_str()), (9, "rare"), "common words find what rare ones leave room for");
}

async fn vectors_of_other_dimensions_are_left_out(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let documents = vec![
        chunked("two", &[("x", &[1.0, 0.0])]),
        chunked("three", &[("x", &[0.0, 1.0, 0.0])]),
        chunked("large", &[("x", &[0.5; 3000])]),
        chunked("none", &[("x", &[])]),
    ];
    put_all(&store, documents).await;
    // More often than PostgreSQL plans a prepared statement for its values.
    for _ in 0..8 {
        assert_eq!(found(&store, Some(&[0.1, 0.9]), "", 9).await, ["two"]);
        assert_eq!(found(&store, Some(&[0.1, 0.9, 0.0]), "", 9).await, ["three"]);
        assert_eq!(found(&store, Some(&[0.1; 3000]), "", 9).await, ["large"]);
        assert_eq!(found(&store, Some(&[0.1; 4]), "", 9).await, [""; 0]);
    }
}

async fn words_are_found_whatever_characters_they_have(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let long = "é".repeat(1000);
    let odd = ["it's", "\\", "a\\'b", "a|b", "!x:*", "'", "<->", "\u{1f980}", "\"", &long];
    let documents = odd.iter().enumerate().map(|(number, word)| chunked(&number.to_string(), &[(word, &[])]));
    put_all(&store, documents.collect()).await;
    for (number, word) in odd.iter().enumerate() {
        assert_eq!(found(&store, None, word, 9).await, [number.to_string()], "{word}");
    }
    let empty = search_words(&store, None, &[String::new()], 9).await;
    assert!(empty.documents.is_empty() && empty.frequencies.is_empty());
}

async fn replaced_and_deleted_documents_are_no_candidates(database: Arc<TestDatabase>) {
    let store = database.open().await;
    put_all(&store, vec![chunked("a", &[("old", &[1.0, 0.0]), ("old", &[1.0, 0.0])]), document("b", "x")]).await;
    let new = NewSearchDocument { etag: "new".into(), ..chunked("a", &[("new", &[0.0, 1.0])]) };
    put_all(&store, vec![new]).await;
    assert_eq!(search(&store, None, "old", 9).await.frequencies[0].chunks, 0);
    assert_eq!(found(&store, Some(&[0.0, 1.0]), "new", 1).await, ["a"]);
    delete(&store, &["a"]).await;
    assert_eq!(found(&store, Some(&[0.0, 1.0]), "new", 9).await, ["b"]);
    store.search().delete_namespace("notes", COMMIT).await.unwrap();
    put_all(&store, Vec::new()).await;
    assert_eq!(found(&store, Some(&[0.0, 1.0]), "note new", 9).await, [""; 0]);
}

async fn replicas_that_start_at_once_make_one_table(database: Arc<TestDatabase>) {
    let stores = at_once(6, |number| {
        let database = database.clone();
        async move {
            let store = database.open().await;
            put_all(&store, vec![chunked(&number.to_string(), &[("x", &[1.0])])]).await;
            store
        }
    });
    for store in stores.await {
        assert_eq!(search(&store, None, "x", 9).await.documents.len(), 6);
        assert!(!store.failing());
    }
}

async fn without_pgvector_everything_else_works_and_chunks_follow_later(database: Arc<TestDatabase>) {
    // A role that may create tables, and no extension.
    let role = format!("tables_only_{}", std::process::id());
    database.sql(&format!("CREATE ROLE {role}; GRANT ALL ON SCHEMA public TO {role}")).await;
    let url = database.url();
    let separator = if url.contains('?') { '&' } else { '?' };
    let limited = format!("{url}{separator}options[role]={role}");
    let open = || async { Store::open(&limited, mainstay_store::StoreOptions::default()).await.unwrap() };

    let store = open().await;
    let many = (0..40).map(|number| chunked(&format!("n{number}"), &[("many", &[0.0, 1.0])]));
    put_all(&store, many.collect()).await;
    put_all(&store, vec![chunked("a", &[("old", &[])]), chunked("b", &[("cat", &[1.0, 0.0])])]).await;
    put_all(&store, vec![NewSearchDocument { etag: "2".into(), ..chunked("a", &[("new", &[-1.0, 0.0])]) }]).await;
    delete(&store, &["n0"]).await;
    assert_eq!(store.search().candidates("notes", Some(&[1.0, 0.0]), &words("cat"), 9).await.unwrap(), None);
    assert_eq!(store.search().documents("notes", &["a".into(), "n0".into()]).await.unwrap().len(), 1);
    assert!(!store.failing());

    // An administrator installs it. The next replica that starts makes the table; this one goes on, and uses it.
    database.sql("CREATE EXTENSION vector").await;
    let next = open().await;
    put_all(&next, vec![chunked("c", &[("cat", &[0.9, 0.1])])]).await;
    put_all(&store, vec![chunked("d", &[("cat", &[0.8, 0.2])])]).await;
    for store in [&store, &next] {
        assert_eq!(found(store, Some(&[1.0, 0.0]), "cat", 3).await, ["b", "c", "d"]);
        let all = search(store, None, "many old new cat", 99).await;
        let chunks: Vec<u64> = all.frequencies.iter().map(|word| word.chunks).collect();
        assert_eq!((chunks, all.documents.len()), (vec![39, 0, 1, 3], 43));
    }
    let pending = database.select("SELECT COUNT(*), NULL FROM search_document WHERE pending_chunks IS NOT NULL").await;
    assert_eq!(pending, [(0, None)]);
    database.sql(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await;
}
