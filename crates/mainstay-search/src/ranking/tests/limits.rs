//! Queries that are empty, huge or wrong.

use super::fixture::{FILES, empty, index};
use super::*;
use crate::ranking::{MAX_RESULTS, SearchError};
use crate::vectors::VectorError;

#[test]
fn any_text_is_a_query() {
    let index = index(FILES);
    let long = "stack of values and jobs ".repeat(1 << 20 >> 4);
    let letters = "x".repeat(1 << 20);
    let signs = "::".repeat(1 << 19);
    let words = (0..100_000).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
    for query in ["", " ", "\n", "the", "what is this", "of", "?", "()", "::", ".", "\0", "日本語", "é", "$", "🦀"]
        .into_iter()
        .chain([long.as_str(), &letters, &signs, &words])
    {
        for rerank in [true, false] {
            let answer = find(&index.snapshot(), &Request { query, rerank, ..request() });
            assert!(answer.hits.iter().all(|hit| hit.score.is_finite()));
        }
    }
    assert!(ask(&index.snapshot(), "").hits.is_empty());
    assert_eq!(files(&ask(&index.snapshot(), &long))[0], "src/stack.rs");
}

#[test]
fn an_empty_index_has_no_answers() {
    let index = empty();
    let embedding = [1.0; 256];
    assert!(ask(&index.snapshot(), "stack").hits.is_empty());
    assert!(ask(&index.snapshot(), "how values are pushed").hits.is_empty());
    assert!(find(&index.snapshot(), &Request { embedding: Some(&embedding), ..request() }).hits.is_empty());
}

#[test]
fn an_embedding_finds_chunks_by_itself() {
    let index = index(FILES);
    let mut vector = Vec::new();
    built_in().unwrap().embed("worker threads that wait for jobs", &mut vector);
    let answer = find(&index.snapshot(), &Request { embedding: Some(&vector), ..request() });
    assert_eq!(files(&answer)[0], "src/queue.rs");
    let usage = answer.usage;
    assert!(usage.dense && !usage.lexical && !usage.ranking && usage.class.is_none());
    assert!(answer.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    // With a query, it takes the place of the query's own vector.
    let both = Request { query: "schema", embedding: Some(&vector), ..request() };
    assert!(find(&index.snapshot(), &both).usage.lexical);
    // A vector of length zero is near to nothing.
    assert!(find(&index.snapshot(), &Request { embedding: Some(&[0.0; 256]), ..request() }).hits.is_empty());
}

#[test]
fn an_embedding_that_is_none_is_an_error() {
    let index = index(FILES);
    for (embedding, expected) in [
        (vec![1.0; 255], VectorError::Dimensions { expected: 256, found: 255 }),
        (Vec::new(), VectorError::Dimensions { expected: 256, found: 0 }),
        (vec![f32::NAN; 256], VectorError::NotFinite { index: 0 }),
        ([vec![0.0; 255], vec![f32::INFINITY]].concat(), VectorError::NotFinite { index: 255 }),
    ] {
        for query in ["", "stack"] {
            let request = Request { query, embedding: Some(&embedding), ..request() };
            let error = search(&index.snapshot(), built_in().unwrap(), &request).unwrap_err();
            assert_eq!(error, SearchError::Embedding(expected.clone()));
        }
    }
}

#[test]
fn no_more_results_are_given_than_asked_for() {
    let index = index(FILES);
    for (top_k, most) in [(0, 0), (1, 1), (3, 3), (usize::MAX, MAX_RESULTS)] {
        for rerank in [true, false] {
            let answer = find(&index.snapshot(), &Request { query: "value", top_k, rerank, ..request() });
            assert!(answer.hits.len() <= most && (top_k == 0 || !answer.hits.is_empty()));
        }
    }
}
