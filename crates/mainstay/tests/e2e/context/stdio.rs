//! Contract 002 on the real program: the same bytes on every interface; start and end.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::testing::context_caches::{Caches, Invocation, SERVERS, outcome};
use crate::testing::program::{Server, wait_until};

const WORDS: [&str; 12] =
    ["deploy", "Host", "check", "rolling", "ÄPFEL", "日本", "the", "a", "and", "rollback,", "naïve", "😀"];

/// Documents of many lengths, with words that are common and words that are rare.
fn documents(count: usize) -> Vec<(String, String)> {
    let document = |nth: usize| {
        let words = (0..nth % 17 * 5).map(|at| WORDS[(nth * 31 + at * at * 7) % (WORDS.len() - nth % 3)]);
        (format!("{}/{nth:03}.md", ["Guide", "api", "notes"][nth % 3]), words.collect::<Vec<_>>().join(" "))
    };
    (0..count).map(document).collect()
}

fn built(count: usize) -> Caches {
    let documents = documents(count);
    let documents: Vec<(&str, &str)> = documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Caches::with("guide", &documents)
}

/// A server of everything, with these caches.
pub(crate) fn mcp(caches: &Caches) -> Server {
    Server::start(&caches.path("data"), &["--cache-root", caches.root().to_str().unwrap()])
}

#[test]
fn the_command_line_the_dialect_and_mcp_return_the_same_bytes() {
    let caches = built(60);
    let (mut dialect, everything) = (caches.server(), mcp(&caches));
    let mut mcp = everything.connect();
    let mut answers = Vec::new();
    for query in
        ["", "deploy", "äpfel 日本", "Check check HOST", "no such word", "😀 naïve rollback,", "-- \"x\" \\ \n"]
    {
        for budget in [0, 1, 37, 400, 4000, u64::MAX] {
            let text = caches.resolve("guide", query, budget);
            assert_eq!(dialect.resolve("guide", query, budget).as_ref(), Ok(&text), "{query:?} {budget}");
            let args = json!({"cache": "guide", "query": query, "budget": budget});
            for spelling in ["context_resolve", "context.resolve"] {
                let answer = mcp.call(spelling, &args);
                assert_eq!(outcome(&answer, caches.around()).as_ref(), Ok(&text), "{query:?} {budget}");
            }
            answers.push(text);
        }
    }
    answers.sort();
    answers.dedup();
    assert!(answers.len() > 30, "only {} answers differ: the test tested little", answers.len());
    assert_eq!(caches.resolve("guide", "deploy", 400), built(60).resolve("guide", "deploy", 400), "in another place");
}

#[test]
fn caches_are_inspected_and_listed_alike_on_every_interface() {
    let caches = built(9);
    let (mut dialect, everything) = (caches.server(), mcp(&caches));
    for (tool, args) in [("inspect_cache", json!({"cache": "guide"})), ("list_caches", json!({}))] {
        let text = dialect.call(&format!("context.{tool}"), &args).unwrap();
        let answer = everything.call(&format!("context_{tool}"), &args);
        assert_eq!(outcome(&answer, caches.around()).as_ref(), Ok(&text));
        assert_eq!(answer["result"]["structuredContent"], serde_json::from_str::<Value>(&text).unwrap(), "{tool}");
    }
    let out = caches.context(&["inspect", "--cache", "caches/guide"]);
    let printed: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(Ok(printed), dialect.inspect("guide"));
}

#[test]
fn initialize_and_tools_list_agree() {
    let caches = Caches::new();
    let mut server = caches.server();
    let greeting = server.ask(br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    let listed = server.ask(br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(greeting["result"]["tools"], listed["result"]["tools"]);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 3);
}

#[test]
fn a_score_is_written_as_short_as_single_precision_allows() {
    let long = format!("hit{}", " x".repeat(99_999));
    let caches = Caches::with("guide", &[("a.md", &long)]);
    let text = caches.resolve("guide", "hit", 1_000_000);
    assert!(text.contains(r#""score":0.00001,"tokens""#), "{}", &text[text.len() - 300..]);
    assert_eq!(caches.server().resolve("guide", "hit", 1_000_000), Ok(text));
}

#[test]
fn on_mcp_an_error_has_an_actionable_message_and_the_contracts_code() {
    let caches = built(3);
    let everything = mcp(&caches);
    let cases = [
        ("context_resolve", json!({"cache": "none", "query": "", "budget": 1}), Some("cache_missing"), "none"),
        ("context_inspect_cache", json!({"cache": "../x"}), Some("cache_missing"), "../x"),
        ("context_resolve", json!({"cache": ".", "query": "", "budget": 1}), Some("cache_invalid"), "manifest.json"),
        ("context_resolve", json!({"cache": "guide", "query": "", "budget": -1}), None, "/budget"),
        ("context_resolve", json!({"cache": "guide", "query": "", "budget": 1, "more": 1}), None, "more"),
    ];
    for (tool, args, code, word) in cases {
        let answer = everything.call(tool, &args);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(answer["result"]["isError"], true, "{args}");
        assert!(text.contains(word), "{args}: {text}");
        assert!(!answer.to_string().contains(caches.around().to_str().unwrap()), "{args}: {answer}");
        assert!(code.is_none_or(|code| answer.to_string().contains(code)), "{args}: {answer}");
    }
}

/// Exit status and what is said when it is started with these variables; nothing is printed.
fn rejected(caches: &Caches, invocation: &Invocation, variables: &[(&str, Option<&str>)]) -> (i32, String) {
    let mut command = caches.command(invocation);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let out = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(out.stdout, b"");
    (out.status.code().unwrap(), String::from_utf8(out.stderr).unwrap())
}

#[test]
fn invalid_settings_are_named_at_startup() {
    let caches = Caches::new();
    let (_, said) = rejected(&caches, &SERVERS[0], &[("CONTEXT_CACHE_ROOT", None)]);
    assert!(said.starts_with("mcp-context-server: "), "{said}");
    for invocation in &SERVERS {
        let (code, said) = rejected(&caches, invocation, &[("CONTEXT_CACHE_ROOT", None)]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("CONTEXT_CACHE_ROOT"), "{said}");
        for seconds in ["0", "-1", "x", "", "1.5", "18446744073709551616"] {
            let (code, said) = rejected(&caches, invocation, &[("CONTEXT_TOOL_TIMEOUT_SECS", Some(seconds))]);
            assert_eq!(code, 1, "{seconds:?}: {said}");
            assert!(said.contains("CONTEXT_TOOL_TIMEOUT_SECS"), "{seconds:?}: {said}");
        }
        let (code, said) = rejected(&caches, invocation, &[("CONTEXT_TOOL_TIMEOUT_SECS", Some("1"))]);
        assert_eq!(code, 0, "at the end of input it ends: {said}");
    }
}

#[test]
fn a_missing_root_has_no_caches() {
    let caches = Caches::new();
    std::fs::write(caches.path("file"), "no directory").unwrap();
    for root in ["nowhere", "file"] {
        let mut command = caches.command(&SERVERS[0]);
        command.env("CONTEXT_CACHE_ROOT", caches.path(root));
        let mut server = caches.server_of(command);
        assert_eq!(server.call("context.list_caches", &json!({})), Err("cache_missing".into()), "{root}");
        assert_eq!(server.resolve("guide", "x", 1), Err("cache_missing".into()), "{root}");
        assert_eq!(server.inspect("guide"), Err("cache_missing".into()), "{root}");
    }
}

#[test]
fn the_server_ends_with_its_input_and_when_its_output_is_closed() {
    let caches = built(3);
    let mut server = caches.server();
    server.piped.write(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    server.piped.write_part(br#"{"jsonrpc":"2.0","id":8,"method":"pi"#);
    server.piped.end_input();
    assert_eq!(server.piped.read().unwrap()["id"], 7);
    assert_eq!(server.piped.read().unwrap()["error"]["code"], -32700, "half a line is none");
    assert_eq!((server.piped.read(), server.piped.wait()), (None, 0));

    let mut command = caches.command(&SERVERS[0]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let child = std::sync::Mutex::new(child);
    let ended = || child.lock().unwrap().try_wait().unwrap().is_some();
    let ping = std::sync::Mutex::new(move || writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).is_err());
    wait_until(|| ping.lock().unwrap()() && ended());
}
