//! Whole answers over the fixture. They change only when the ranking does.

use super::fixture::{FILES, index};
use super::*;
use crate::ranking::{Granularity, QueryClass};

#[test]
fn answers_are_as_they_were() {
    let index = index(FILES);
    let snapshot = index.snapshot();
    for (query, expected) in GOLDEN {
        let answer = ask(&snapshot, query);
        for (hit, (path, name, score)) in answer.hits.iter().zip(*expected) {
            assert_eq!((hit.path.as_str(), hit.name.as_str()), (*path, *name), "{query}");
            assert!((hit.score - score).abs() < 0.01, "{query}: {} {score}", hit.score);
        }
    }
}

#[test]
fn an_answer_says_which_parts_ran_and_where_a_hit_is() {
    let index = index(FILES);
    let answer = ask(&index.snapshot(), "Puts a value on top of the stack.");
    assert_eq!(answer.usage.class, Some(QueryClass::Definition));
    let usage = answer.usage;
    assert!(usage.dense && usage.lexical && usage.tokens && usage.ranking && usage.candidates > 5);
    let hit = &answer.hits[0];
    assert_eq!((hit.path.as_str(), hit.name.as_str(), hit.language), ("src/stack.rs", "ValueStack", "rust"));
    assert_eq!((hit.first_line, hit.last_line, hit.etag), (10, 26, [1; 16]));
    let (_, source) = FILES.iter().find(|(path, _)| *path == hit.path).unwrap();
    let text = &source[usize::try_from(hit.start_byte).unwrap()..usize::try_from(hit.end_byte).unwrap()];
    assert!(text.starts_with("impl ValueStack {") && text.ends_with('}'), "{text}");
}

#[test]
fn scores_begin_with_one_and_never_rise() {
    let index = index(FILES);
    for rerank in [true, false] {
        for granularity in [Granularity::Guess, Granularity::File, Granularity::Definition, Granularity::Chunk] {
            let request = Request { query: "job queue worker", rerank, granularity, ..request() };
            let answer = find(&index.snapshot(), &request);
            let scores: Vec<f32> = answer.hits.iter().map(|hit| hit.score).collect();
            assert!((scores[0] - 1.0).abs() < 1e-6 && scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
            assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        }
    }
}

#[test]
fn fusion_alone_knows_no_penalties() {
    let index = index(FILES);
    let query = "pushed and popped stack values";
    let fused = find(&index.snapshot(), &Request { query, rerank: false, ..request() });
    assert_eq!(files(&fused)[0], "tests/stack_test.rs");
    assert!(!fused.usage.ranking && !fused.usage.tokens);
    assert_eq!(files(&ask(&index.snapshot(), query))[0], "src/stack.rs");
}

type Expected = (&'static str, &'static str, f32);

/// Queries with the first results: path, name, score. None depends on the system on which the tests run.
const GOLDEN: &[(&str, &[Expected])] = &[
    (
        "how routes of requests are matched",
        &[
            ("src/http/mod.rs", "HttpServer", 1.00),
            ("src/http/mod.rs", "HttpServer", 0.67),
            ("README.md", "Toolbox", 0.42),
            ("src/http/mod.rs", "", 0.35),
        ],
    ),
    (
        "worker threads and their jobs",
        &[
            ("src/queue.rs", "JobQueue", 1.00),
            ("src/queue.rs", "JobQueue", 0.65),
            ("src/http/mod.rs", "HttpServer", 0.38),
            ("README.md", "Toolbox", 0.34),
        ],
    ),
    (
        "Returns the names of missing fields",
        &[
            ("web/v1/schema.ts", "Schema", 1.00),
            ("web/v2/schema.ts", "Schema", 0.85),
            ("src/http/mod.rs", "HttpServer", 0.14),
            ("src/unix/terminal.c", "terminal_set_raw_mode", 0.13),
        ],
    ),
    (
        "ValueStack",
        &[
            ("src/stack.rs", "ValueStack", 1.00),
            ("src/stack.rs", "ValueStack", 0.66),
            ("tests/stack_test.rs", "", 0.14),
            ("tests/stack_test.rs", "the_last_value_pushed_on_the_stack_is_popped_first", 0.09),
        ],
    ),
    (
        "JSON element tree",
        &[
            ("src/json_element.py", "JsonElement", 1.00),
            ("src/json_element.py", "", 0.63),
            ("src/json_element.py", "parse_document", 0.40),
            ("src/stack.rs", "ValueStack", 0.06),
        ],
    ),
];
