//! Chunks that are like a span.

use super::fixture::{FILES, index};
use super::*;
use crate::ranking::{Filter, SearchError, Span, similar};

#[test]
fn what_is_like_a_span_is_found_without_the_span() {
    let index = index(FILES);
    for text in ["", "terminal raw mode"] {
        let span = Span { path: "src/unix/terminal.c", lines: 4..=5, text };
        let answer = similar(&index.snapshot(), built_in().unwrap(), &span, &Filter::default(), 5).unwrap();
        assert_eq!(answer.hits[0].path, "src/win/terminal.c");
        assert!(answer.hits.iter().all(|hit| hit.name != "terminal_set_raw_mode" || hit.path == "src/win/terminal.c"));
        assert_eq!((answer.hits.len(), answer.usage.lexical), (5, !text.is_empty()));
    }
}

#[test]
fn a_document_that_is_not_indexed_has_nothing_like_it() {
    let index = index(FILES);
    let find = |path, lines| {
        let span = Span { path, lines, text: "" };
        similar(&index.snapshot(), built_in().unwrap(), &span, &Filter::default(), 5)
    };
    assert_eq!(find("none.rs", 1..=9).unwrap_err(), SearchError::NoSuchDocument);
    // Nothing is in these lines, and nothing is like nothing.
    assert!(find("src/stack.rs", 900..=901).unwrap().hits.is_empty());
}
