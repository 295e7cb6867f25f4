//! Symbols, mentions and compounds.

use mainstay_code::SymbolKind;

use super::fixture::{FILES, index};
use super::*;
use crate::ranking::{Filter, Symbol, symbols};

#[test]
fn a_symbol_finds_the_file_that_defines_it() {
    let index = index(FILES);
    for (query, path) in [
        ("ValueStack", "src/stack.rs"),
        ("value_stack", "src/stack.rs"),
        ("ValueStack::push_value", "src/stack.rs"),
        ("pushValue()", "src/stack.rs"),
        ("JobQueue", "src/queue.rs"),
        ("shutdown", "src/queue.rs"),
        ("HttpServer.read_body", "src/http/mod.rs"),
        ("parse_document", "src/json_element.py"),
        ("Schema", "web/v2/schema.ts"),
    ] {
        assert_eq!(files(&ask(&index.snapshot(), query))[0], path, "{query}");
    }
}

#[test]
fn the_chunk_with_the_definition_comes_first() {
    let index = index(FILES);
    for query in ["push_value", "ValueStack::pop_value", "missingFields", "match_route", "JobQueue.submit", "to_text"] {
        let answer = ask(&index.snapshot(), query);
        let (first, defined) = (&answer.hits[0], &symbols(&index.snapshot(), query, &Filter::default(), 1)[0]);
        assert_eq!(first.path, defined.path, "{query}");
        let lines = first.first_line..=first.last_line;
        assert!(lines.contains(&defined.first_line) && lines.contains(&defined.last_line), "{query} {first:?}");
    }
}

/// Files without any word in common with the query, but for a name in it.
fn two(defining: &str) -> Vec<(&'static str, String)> {
    let filler = "fn other(one: u8) -> u8 {\n    let two = one + 1;\n    let three = two * one;\n    three - one\n}\n";
    vec![("a.rs", filler.to_owned()), ("b.rs", format!("{defining}\n{filler}")), ("c.rs", filler.to_owned())]
}

#[test]
fn a_name_that_is_mentioned_or_spelled_in_two_words_finds_its_definition() {
    for (query, defining) in [
        ("where does the FooBarBaz come from", "pub struct FooBarBaz {\n    x: u8,\n}\n"),
        ("where does foo_bar_baz come from", "pub fn foo_bar_baz() {\n    loop {}\n}\n"),
        ("where do foo bars come from", "pub struct FooBar {\n    x: u8,\n}\n"),
        ("where does foo bar baz come from", "pub fn fooBarBaz() {\n    loop {}\n}\n"),
    ] {
        let files_of = two(defining);
        let files_of: Vec<(&str, &str)> = files_of.iter().map(|(path, source)| (*path, source.as_str())).collect();
        assert_eq!(files(&ask(&index(&files_of).snapshot(), query))[0], "b.rs", "{query}");
    }
}

#[test]
fn definitions_are_listed_by_spelling_and_kind() {
    let index = index(&[
        ("a.rs", "pub fn node() -> u8 {\n    let one = 1;\n    let two = 2;\n    one + two\n}\n"),
        ("b.rs", "pub struct Node {\n    x: u8,\n    y: u8,\n    z: u8,\n}\n"),
        ("c.rs", "pub const NODE: u8 = 1;\n"),
        ("tests/d.rs", "pub struct Node {\n    t: u8,\n    u: u8,\n    v: u8,\n}\n"),
        ("e.rs", "pub struct Tree;\nimpl Tree {\n    pub fn node(&self) -> u8 {\n        1 + 2\n    }\n}\n"),
    ]);
    let places = |name: &str| -> Vec<(String, bool)> {
        let found = symbols(&index.snapshot(), name, &Filter::default(), 10);
        found.into_iter().map(|Symbol { path, is_exact, .. }| (path, is_exact)).collect()
    };
    let expected = |list: &[(&str, bool)]| -> Vec<(String, bool)> {
        list.iter().map(|(path, exact)| ((*path).to_owned(), *exact)).collect()
    };
    let node = [("b.rs", true), ("tests/d.rs", true), ("a.rs", false), ("e.rs", false), ("c.rs", false)];
    assert_eq!(places("Node"), expected(&node));
    let node = [("a.rs", true), ("e.rs", true), ("b.rs", false), ("c.rs", false), ("tests/d.rs", false)];
    assert_eq!(places("node"), expected(&node));
    assert_eq!(places("Tree::node")[0], ("e.rs".to_owned(), true));
    assert!(places("nothing").is_empty() && places("two words").is_empty() && places("").is_empty());
    let first = &symbols(&index.snapshot(), "node", &Filter::default(), 1)[0];
    assert_eq!((first.kind, first.first_line, first.last_line), (SymbolKind::Function, 1, 5));
}
