//! Input that no search can work with is refused with its reason, and the server goes on.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::sources::{Sources, best, failed, finished, mira};

#[test]
fn every_wrong_argument_of_a_search_is_named() {
    let sources = Sources::sample();
    let server = sources.server();
    let mut http = server.connect();
    let dimensions = 256;
    let mut huge = vec![0.5; dimensions];
    huge[3] = 1e39;
    for (args, field) in [
        (json!({}), "query"),
        (json!({"query": ""}), "query"),
        (json!({"query": " \t\n\u{3000}"}), "query"),
        (json!({"query": "a".repeat(1 << 20)}), "query"),
        (json!({"query": 7}), "query"),
        (json!({"embedding": [1.0, 0.0]}), "embedding"),
        (json!({"embedding": huge}), "embedding"),
        (json!({"embedding": vec![0.0; dimensions]}), "embedding"),
        (json!({"embedding": []}), "embedding"),
        (json!({"query": "a", "embedding": []}), "embedding"),
        (json!({"query": "a", "namespace": "nowhere"}), "namespace"),
        (json!({"query": "a", "namespace": ""}), "namespace"),
        (json!({"query": "a", "namespace": "../../etc"}), "namespace"),
        (json!({"query": "a", "namespace": "/etc"}), "namespace"),
        (json!({"query": "a", "top_k": 0}), "top_k"),
        (json!({"query": "a", "top_k": 51}), "top_k"),
        (json!({"query": "a", "top_k": -1}), "top_k"),
        (json!({"query": "a", "top_k": 1.5}), "top_k"),
    ] {
        let shown: String = args.to_string().chars().take(80).collect();
        let (code, error) = mira(&mut http, "vector/search", &args);
        assert!([1003, -32602].contains(&code), "{shown}: {error}");
        assert!(error["data"]["field"].as_str().is_some_and(|found| found.starts_with(field)), "{shown}: {error}");
        let answer = http.call("vector_search", &args);
        assert!(answer["result"]["isError"] == true || answer["error"]["code"] == -32602, "{shown}: {answer}");
        assert!(answer.to_string().contains(field), "{shown}: {answer}");
    }
    assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");
}

#[test]
fn a_query_that_is_no_text_is_a_parse_error() {
    let sources = Sources::sample();
    let server = sources.server();
    let mut http = server.connect();
    let host = http.host();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let body = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"vector/search\",\"params\":{\"query\":\"\xFF\xFE\"}}";
    let answer = http.send("POST /rpc", &headers, body).unwrap().message();
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    // Text that is unusual is text.
    for query in ["\u{0}", "\u{202e}\u{feff}", "🦀🦀🦀", "\u{1b}[31m", "ﷺ".repeat(2000).as_str(), "'; DROP TABLE x; --"]
    {
        let (code, answer) = mira(&mut http, "vector/search", &json!({"query": query}));
        assert_eq!(code, 0, "{query:?}: {answer}");
    }
    assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");
}

#[test]
fn wrong_arguments_of_symbols_and_similar_are_refused() {
    let sources = Sources::sample();
    let mut client = sources.stdio();
    for (tool, args) in [
        ("search_symbols", json!({"name": ""})),
        ("search_symbols", json!({"name": "  "})),
        ("search_symbols", json!({"name": "a".repeat(100_000)})),
        ("search_symbols", json!({"name": "a", "limit": 0})),
        ("search_similar", json!({"path": "src/missing.rs"})),
        ("search_similar", json!({"path": "src"})),
        ("search_similar", json!({"path": ""})),
        ("search_similar", json!({"path": ".env"})),
        ("search_similar", json!({"path": "../secret"})),
        ("search_similar", json!({"path": "src/token.rs", "line_start": 0})),
        ("search_similar", json!({"path": "src/token.rs", "line_start": 500})),
        ("search_similar", json!({"path": "src/token.rs", "line_start": 5, "line_end": 2})),
        ("search_similar", json!({"path": "src/token.rs", "top_k": 51})),
    ] {
        let (_, text) = failed(&mut client, tool, &args);
        assert!(!text.is_empty() && !text.to_lowercase().contains("internal"), "{tool} {args}: {text}");
    }
    // Signs without a name.
    for name in ["::", "()", "#", "!!", "Stack::"] {
        assert!(failed(&mut client, "search_symbols", &json!({"name": name})).1.contains("name"), "{name:?}");
    }
    let last: Value =
        client.call("search_similar", &json!({"path": "src/token.rs", "line_start": 9, "line_end": 4_000_000_000_u32}));
    assert!(last["result"]["isError"] != true, "{last}");
    assert_eq!(best(&mut client, "mix_colours"), "src/colour.rs");
}

#[test]
fn wrong_words_on_the_command_line_exit_with_2() {
    let sources = Sources::sample();
    for words in [&[][..], &[""], &[" "], &["a", "--top", "0"], &["a", "--top", "51"], &["a", "--lang"]] {
        let (code, out, error) = sources.run(&[&["search"], words].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {error}");
        assert!(!error.is_empty() && !error.contains("panicked"), "{words:?}: {error}");
    }
    let mut command = sources.command(&["search"]);
    command.arg(OsStr::from_bytes(b"\xFF\xFE"));
    let (code, out, error) = finished(command);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains("UTF-8"), "{error}");
}
