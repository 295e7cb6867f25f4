//! Scores of a part of a collection with the counts of the whole, and searches whose embedder fails.

use std::collections::HashSet;

use super::fixture::{FILES, document, empty, index};
use super::*;
use crate::document::{Prepared, versions};
use crate::embedding::{EmbedError, Embedder, Parts, StaticModel};
use crate::index::Statistics;
use crate::ranking::{Filter, Granularity, Hit, SearchError, Span, query_names, query_words, similar_with_statistics};

const QUERIES: &[&str] = &[
    "how routes of requests are matched",
    "worker threads and their jobs",
    "Returns the names of missing fields",
    "terminal raw mode",
    "ValueStack",
    "HttpServer.match_route",
    "JSON element tree",
    "how JobQueue wakes a worker",
    "push",
];

const GRANULARITIES: [Granularity; 4] =
    [Granularity::Guess, Granularity::File, Granularity::Definition, Granularity::Chunk];

fn prepared() -> Vec<Prepared> {
    FILES.iter().map(|(path, source)| document(path, source)).collect()
}

fn in_memory(documents: &[Prepared]) -> Snapshot {
    Snapshot::in_memory(documents, &versions(built_in().unwrap())).unwrap()
}

fn hits(snapshot: &Snapshot, request: &Request<'_>) -> Vec<Hit> {
    without_places(find(snapshot, request).hits)
}

/// Where a chunk is differs from snapshot to snapshot.
fn without_places(hits: Vec<Hit>) -> Vec<Hit> {
    hits.into_iter().map(|hit| Hit { place: (0, 0), ..hit }).collect()
}

/// Every request that the tests compare.
fn requests<'a>() -> impl Iterator<Item = Request<'a>> {
    let all = QUERIES.iter().flat_map(|query| GRANULARITIES.map(|granularity| (*query, granularity)));
    all.flat_map(|(query, granularity)| {
        [true, false].map(|rerank| Request { query, granularity, rerank, top_k: 50, ..Request::default() })
    })
}

#[test]
fn documents_in_memory_are_ranked_as_those_of_an_index() {
    let index = index(FILES);
    let mut documents = prepared();
    // The order in which a database gives them, and copies of before a change, must not matter.
    documents.reverse();
    documents.insert(0, document("src/stack.rs", "fn old() { stack(); }\n"));
    let snapshot = in_memory(&documents);
    assert_eq!((snapshot.documents(), snapshot.chunks()), (FILES.len(), index.snapshot().chunks()));
    for request in requests() {
        assert_eq!(hits(&snapshot, &request), hits(&index.snapshot(), &request), "{request:?}");
    }
    assert!(in_memory(&[]).parts.is_empty());
    assert!(ask(&in_memory(&[]), "stack").hits.is_empty());
}

#[test]
fn a_document_with_vectors_of_another_model_is_not_taken_into_memory() {
    let other = crate::segment::Versions { dimensions: 3, ..versions(built_in().unwrap()) };
    assert!(Snapshot::in_memory(&prepared(), &other).is_err());
}

/// The documents of the first results. Where files are ranked, also those that decide what the others are measured by: the
/// ones with the highest scores by words, all that define a name of the query, and other versions of a directory.
fn best_documents(whole: &Snapshot, request: &Request<'_>) -> Vec<Prepared> {
    let names = query_names(request.query);
    let first: HashSet<String> = hits(whole, request).into_iter().take(3).map(|hit| hit.path).collect();
    let by_words: HashSet<u64> =
        query_words(request.query).iter().map(|word| crate::document::term_hash(word)).collect();
    let is_wanted = |document: &Prepared| {
        if first.contains(&document.path) || !request.rerank {
            return first.contains(&document.path);
        }
        document.definitions.iter().any(|definition| names.contains(&definition.name_hash))
            || document.terms.iter().any(|(hash, _)| by_words.contains(hash))
            || document.path.starts_with("web/")
    };
    prepared().into_iter().filter(is_wanted).collect()
}

#[test]
fn a_part_of_a_collection_has_the_scores_of_the_whole() {
    let index = index(FILES);
    let whole = index.snapshot();
    let mut parts = 0;
    for request in requests() {
        let statistics = Statistics::of(&whole, &query_words(request.query));
        let documents = best_documents(&whole, &request);
        parts += usize::from(documents.len() < FILES.len());
        let paths: HashSet<&str> = documents.iter().map(|document| document.path.as_str()).collect();
        let expected: Vec<Hit> =
            hits(&whole, &request).into_iter().filter(|hit| paths.contains(hit.path.as_str())).collect();
        let part = in_memory(&documents);
        let with = Request { statistics: Some(&statistics), ..request.clone() };
        assert_eq!(hits(&part, &with), expected, "{request:?}");
    }
    assert!(parts > 40, "only {parts} requests leave documents out");
}

#[test]
fn without_the_statistics_scores_of_a_part_are_others() {
    let index = index(FILES);
    let request = Request { query: "stack of values", rerank: false, ..request() };
    let documents = [document("src/stack.rs", FILES[0].1), document("tests/stack_test.rs", FILES[6].1)];
    let statistics = Statistics::of(&index.snapshot(), &query_words(request.query));
    let part = in_memory(&documents);
    let with = hits(&part, &Request { statistics: Some(&statistics), ..request.clone() });
    assert_ne!(hits(&part, &request), with);
}

#[test]
fn statistics_count_what_is_not_gone_and_never_less_than_the_snapshot_has() {
    let index = index(FILES);
    index.add(&[("src/stack.rs", "fn changed() {}\n")]);
    index.remove("tests/stack_test.rs");
    let fresh = empty();
    let left: Vec<(&str, &str)> = FILES
        .iter()
        .copied()
        .filter(|(path, _)| !path.contains("stack"))
        .chain([("src/stack.rs", "fn changed() {}\n")])
        .collect();
    fresh.add(&left);
    let words = query_words("stack of values and jobs");
    let statistics = Statistics::of(&index.snapshot(), &words);
    assert_eq!(statistics, Statistics::of(&fresh.snapshot(), &words));
    // Counts that are behind: nothing divides by less than there is.
    let behind = Statistics::default();
    let request = Request { query: "stack of values", ..request() };
    assert_eq!(
        hits(&fresh.snapshot(), &Request { statistics: Some(&behind), ..request.clone() }),
        hits(&fresh.snapshot(), &request)
    );
}

#[test]
fn what_is_like_a_span_is_the_same_with_the_statistics_of_the_whole() {
    let index = index(FILES);
    let whole = index.snapshot();
    let span = Span { path: "src/unix/terminal.c", lines: 4..=5, text: "terminal raw mode" };
    let expected = crate::ranking::similar(&whole, built_in().unwrap(), &span, &Filter::default(), 50).unwrap().hits;
    let statistics = Statistics::of(&whole, &crate::words::terms(span.text));
    let part: Vec<Prepared> = prepared()
        .into_iter()
        .filter(|document| document.path.contains("terminal") || document.path == "README.md")
        .collect();
    let found =
        similar_with_statistics(&in_memory(&part), built_in().unwrap(), &span, &Filter::default(), 50, &statistics);
    let expected: Vec<Hit> =
        expected.into_iter().filter(|hit| part.iter().any(|document| document.path == hit.path)).collect();
    assert!(expected.len() > 1);
    assert_eq!(without_places(found.unwrap().hits), without_places(expected));
}

/// An embedder that is never there.
struct Unreachable;

impl Embedder for Unreachable {
    fn dimensions(&self) -> usize {
        256
    }

    fn id(&self) -> &'static str {
        "unreachable"
    }

    fn embed_batch(&self, _texts: &[Parts<'_>], _out: &mut Vec<f32>) -> Result<(), EmbedError> {
        Err(EmbedError::Unavailable { reason: "connection refused".to_owned(), retry_after: None })
    }

    fn token_model(&self) -> Option<&StaticModel> {
        built_in().ok()
    }
}

#[test]
fn a_query_that_cannot_be_embedded_is_an_error_and_one_that_need_not_be_is_none() {
    let index = index(FILES);
    let snapshot = index.snapshot();
    let error = search(&snapshot, &Unreachable, &Request { query: "stack", ..request() }).unwrap_err();
    assert_eq!(error.to_string(), "the embedding model is not available: connection refused");
    assert!(matches!(error, SearchError::Unavailable(reason) if reason.is_temporary()));
    // Nothing is asked for, the vector is there already, or it comes from the index.
    assert!(search(&snapshot, &Unreachable, &Request { query: " ", ..request() }).unwrap().hits.is_empty());
    let vector = vec![1.0; 256];
    let given = Request { query: "stack", embedding: Some(&vector), ..request() };
    assert!(!search(&snapshot, &Unreachable, &given).unwrap().hits.is_empty());
    let span = Span { path: "src/stack.rs", lines: 1..=20, text: "" };
    assert!(crate::ranking::similar(&snapshot, &Unreachable, &span, &Filter::default(), 5).is_ok());
}

#[test]
fn names_of_a_query_are_those_whose_definitions_are_looked_up() {
    let hash = |name: &str| crate::document::name_hash(name);
    assert_eq!(query_names("Stack::pushValue"), [hash("pushvalue")]);
    let found = query_names("how JsonElement is used by worker threads");
    assert!(["jsonelement", "workerthreads", "workerthread"].iter().all(|name| found.contains(&hash(name))));
    assert!(query_names("").is_empty() && query_names("how").len() <= 1);
}
