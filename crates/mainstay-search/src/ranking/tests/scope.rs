//! What is found and what is not: filters, deleted documents, duplicates, segments.

use super::fixture::{FILES, empty, index};
use super::*;
use crate::chunk::Tags;
use crate::document::Prepared;
use crate::ranking::{Filter, Tests};
use crate::segment::NewChunk;

#[test]
fn filters_let_only_some_documents_pass() {
    let index = index(FILES);
    let test = |filter: Filter, expected: &[&str]| {
        for rerank in [true, false] {
            let request = Request { query: "value stack", filter: filter.clone(), rerank, ..request() };
            let answer = find(&index.snapshot(), &request);
            let mut found = files(&answer);
            found.sort_unstable();
            assert_eq!(found, expected, "{filter:?}");
        }
    };
    let all = || Filter::default();
    test(
        Filter { paths: vec!["src/http".into(), "web/v1/schema.ts".into()], ..all() },
        &["src/http/mod.rs", "web/v1/schema.ts"],
    );
    test(Filter { paths: vec!["src/htt".into()], ..all() }, &[]);
    test(Filter { paths: vec!["./web/".into()], ..all() }, &["web/v1/schema.ts", "web/v2/schema.ts"]);
    test(
        Filter { languages: vec!["c".into(), "python".into()], ..all() },
        &["src/json_element.py", "src/unix/terminal.c", "src/win/terminal.c"],
    );
    test(Filter { tests: Tests::Only, ..all() }, &["tests/stack_test.rs"]);
    test(Filter { tags: Tags::DOCS, ..all() }, &["README.md"]);
    let request = Request { query: "value stack", filter: Filter { tests: Tests::Excluded, ..all() }, ..request() };
    let answer = find(&index.snapshot(), &request);
    assert!(!files(&answer).contains(&"tests/stack_test.rs") && files(&answer).contains(&"src/stack.rs"));
}

#[test]
fn deleted_documents_are_never_found() {
    let index = index(FILES);
    let embedding = [0.1; 256];
    index.remove("src/stack.rs");
    let snapshot = index.snapshot();
    for request in [
        Request { query: "ValueStack", ..request() },
        Request { query: "stack of values", ..request() },
        Request { query: "stack of values", rerank: false, ..request() },
        Request { query: "Puts a value on top of the stack.", ..request() },
        Request { embedding: Some(&embedding), top_k: 50, ..request() },
    ] {
        let answer = find(&snapshot, &request);
        assert!(!answer.hits.is_empty() && !files(&answer).contains(&"src/stack.rs"), "{request:?}");
    }
    assert!(crate::ranking::symbols(&snapshot, "ValueStack", &Filter::default(), 9).is_empty());
    // A new version is found in the place of the old one.
    index.add(&[("src/stack.rs", "pub struct ValueHeap {\n    values: Vec<u64>,\n    highest: usize,\n}\n")]);
    assert_eq!(names(&ask(&index.snapshot(), "ValueHeap"))[0], "ValueHeap");
    assert!(!names(&ask(&index.snapshot(), "ValueStack")).contains(&"ValueStack::push_value"));
}

#[test]
fn several_segments_are_searched_like_one() {
    let one = index(FILES);
    let several = empty();
    // In another order, with a document that is replaced and one that is removed.
    several.add(&[("src/queue.rs", "pub struct Old {\n    a: u8,\n}\n"), ("gone.rs", "pub fn gone() {}\n")]);
    several.add(&FILES[6..]);
    several.add(&FILES[..3]);
    several.add(&FILES[3..6]);
    several.remove("gone.rs");
    assert!(several.snapshot().parts.len() > 1);
    for query in ["value stack", "ValueStack", "Returns the missing fields.", "HTTP server route", "terminal", "json"] {
        for rerank in [true, false] {
            let request = Request { query, rerank, ..request() };
            let (expected, found) = (find(&one.snapshot(), &request), find(&several.snapshot(), &request));
            assert_eq!(names(&found), names(&expected), "{query}");
            for (found, expected) in found.hits.iter().zip(&expected.hits) {
                assert!((found.score - expected.score).abs() < 1e-5, "{query} {} {}", found.path, expected.path);
                assert_eq!((&found.path, found.first_line), (&expected.path, expected.first_line), "{query}");
            }
        }
    }
}

/// A segment with more vectors than are compared one by one.
#[test]
fn a_large_segment_is_searched_by_sketches() {
    let count = crate::vectors::EXACT_VECTORS + 10;
    let number = |seed: u32| seed.wrapping_mul(0x9e37_79b1).rotate_left(13).wrapping_mul(0x85eb_ca6b) >> 24;
    let chunk = |id: u32| NewChunk {
        name: format!("chunk{id}"),
        kind: 0,
        start_line: id + 1,
        end_line: id + 1,
        start_byte: id,
        end_byte: id + 1,
        terms: Vec::new(),
        tokens: Vec::new(),
        vector: (0..256).map(|place| u8::try_from(number(id * 256 + place)).unwrap().cast_signed()).collect(),
        scale: 1.0 / 1200.0,
    };
    let chunks: Vec<NewChunk> = (0..count).map(chunk).collect();
    let document = Prepared { chunks, ..fixture::document("large.rs", "") };
    let index = empty();
    index.add_prepared(&document);
    let wanted = &document.chunks[40_000];
    let embedding: Vec<f32> = wanted.vector.iter().map(|code| f32::from(*code)).collect();
    let answer = find(&index.snapshot(), &Request { embedding: Some(&embedding), ..request() });
    assert_eq!(names(&answer)[0], wanted.name);
    assert!(ask(&index.snapshot(), "chunk of a large file").usage.dense);
}

#[test]
fn copies_are_shown_once() {
    let (_, stack) = FILES[0];
    let index = index(&[("src/stack.rs", stack), ("copy/stack.rs", stack), ("src/queue.rs", FILES[1].1)]);
    let mut vector = Vec::new();
    built_in().unwrap().embed("push a value", &mut vector);
    for request in [
        Request { query: "push a value on the stack", ..request() },
        Request { query: "ValueStack", ..request() },
        Request { query: "push a value on the stack", rerank: false, ..request() },
        Request { embedding: Some(&vector), ..request() },
    ] {
        let answer = find(&index.snapshot(), &request);
        let mut shown: Vec<(&str, u32)> = answer.hits.iter().map(|hit| (hit.name.as_str(), hit.first_line)).collect();
        shown.retain(|(name, _)| *name == "ValueStack");
        let distinct: std::collections::HashSet<_> = shown.iter().collect();
        assert!(!shown.is_empty() && distinct.len() == shown.len(), "{shown:?}");
    }
}
