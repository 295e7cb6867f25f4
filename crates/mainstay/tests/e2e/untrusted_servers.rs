//! `mainstay tools --url` and `mainstay call --url` against malicious and broken servers.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::PROGRAM;
use crate::testing::fake_server::{client, fake_server, http, is_greeting, method_not_found, request_id};

/// A server of mira that answers everything with this result.
fn mira_server(result: impl Fn(&str) -> Value + Send + 'static) -> String {
    fake_server(move |request| {
        if is_greeting(request) {
            return Some(method_not_found());
        }
        Some(http(
            "200 OK",
            &json!({"jsonrpc": "2.0", "id": request_id(request), "result": result(request)}).to_string(),
        ))
    })
}

/// A server of the standard that lists one tool and answers its call with this.
fn mcp_server(answer: impl Fn(u64) -> String + Send + 'static) -> String {
    fake_server(move |request| {
        if request.contains("notifications/initialized") {
            return Some(http("202 Accepted", ""));
        }
        let id = request_id(request);
        let result = match request {
            _ if is_greeting(request) => json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}),
            _ if request.contains("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {}}]}),
            _ => return Some(http("200 OK", &answer(id))),
        };
        Some(http("200 OK", &json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()))
    })
}

fn rejected(own: &Path, args: &[&str], token: Option<&str>) -> String {
    let (code, out, error) = client(own, args, token);
    assert_eq!((code, out.as_str()), (1, ""), "{args:?}");
    error
}

#[test]
fn an_endless_list_is_abandoned() {
    let own = tempfile::tempdir().unwrap();
    let next = std::sync::atomic::AtomicU64::new(0);
    let many: Vec<Value> = (0..500).map(|_| json!({"name": "t"})).collect();
    let endless = mira_server(move |_| {
        let cursor = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        json!({"tools": many, "next_cursor": cursor})
    });
    let error = rejected(own.path(), &["tools", "--url", &endless], None);
    assert!(error.contains("10000 tools"), "{error}");
    let next = std::sync::atomic::AtomicU64::new(0);
    let slow = mira_server(move |_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        json!({"tools": [], "next_cursor": next.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string()})
    });
    let error = rejected(own.path(), &["tools", "--url", &slow, "--timeout", "1"], None);
    assert!(error.contains("within 10 s"), "{error}");
    let error =
        rejected(own.path(), &["tools", "--url", &mira_server(|_| json!({"tools": [], "next_cursor": 7}))], None);
    assert!(error.contains("cursor") && error.contains('7'), "{error}");
}

const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{9b}2J\u{7f}\u{202e}b\r";

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}'))
}

#[test]
fn server_output_cannot_send_terminal_escapes() {
    let own = tempfile::tempdir().unwrap();
    let mira = mira_server(|request| {
        if request.contains("tools/list") {
            return json!({"tools": [{"name": "t", "description": HOSTILE}, {"name": HOSTILE}]});
        }
        json!({ "text": HOSTILE })
    });
    for args in [
        vec!["tools", "--url", &mira],
        vec!["tools", "--url", &mira, "--json"],
        vec!["call", "--url", &mira, "t"],
        vec!["call", "--url", &mira, "t", "--json"],
    ] {
        let (code, out, error) = client(own.path(), &args, None);
        assert_eq!(code, 0, "{args:?}: {error}");
        assert!(is_harmless(&out) && out.contains('b'), "{args:?}: {out:?}");
    }
    let (_, out, _) = client(own.path(), &["call", "--url", &mira, "t"], None);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), json!({ "text": HOSTILE }), "for programs it is the same");
    let text = |id| {
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": HOSTILE}]}}).to_string()
    };
    let (_, out, _) = client(own.path(), &["call", "--url", &mcp_server(text), "t"], None);
    assert!(is_harmless(&out) && out.starts_with('a'), "{out:?}");
    let fault = |id| {
        let error = json!({"code": 1, "message": HOSTILE, "data": HOSTILE});
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    };
    let error = rejected(own.path(), &["call", "--url", &mcp_server(fault), "t"], None);
    assert!(is_harmless(&error) && error.contains("error 1: a"), "{error:?}");
}

#[test]
fn an_ambiguous_tool_name_is_rejected_with_the_candidates() {
    let own = tempfile::tempdir().unwrap();
    let url = mira_server(|request| {
        if request.contains("tools/list") {
            return json!({"tools": [{"name": "a/b_c"}, {"name": "a_b/c"}]});
        }
        json!({})
    });
    let error = rejected(own.path(), &["call", "--url", &url, "a_b_c"], None);
    assert!(error.contains("\"a/b_c\"") && error.contains("\"a_b/c\""), "{error}");
    assert_eq!(client(own.path(), &["call", "--url", &url, "a_b/c"], None).0, 0);
}

#[test]
fn a_response_to_another_request_is_not_accepted() {
    let own = tempfile::tempdir().unwrap();
    let result = json!({"content": [{"type": "text", "text": "forged"}]});
    for id in [json!(null), json!("1"), json!(4711), json!(-1), json!(1.5)] {
        let (answered, result) = (id.clone(), result.clone());
        let url = mcp_server(move |_| json!({"jsonrpc": "2.0", "id": answered, "result": result}).to_string());
        let error = rejected(own.path(), &["call", "--url", &url, "t"], None);
        assert!(error.contains("no answer to tools/call"), "{id}: {error}");
    }
    let url =
        mcp_server(move |_| json!({"jsonrpc": "2.0", "id": null, "error": {"code": 7, "message": "no"}}).to_string());
    assert!(rejected(own.path(), &["call", "--url", &url, "t"], None).contains("error 7: no"));
    for (result, words) in [(json!({"resultType": "task"}), "\"task\""), (json!({}), "neither")] {
        let url = mcp_server(move |id| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
        let error = rejected(own.path(), &["call", "--url", &url, "t"], None);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_first_response_is_used() {
    let own = tempfile::tempdir().unwrap();
    let url = fake_server(|request| {
        if is_greeting(request) {
            return Some(method_not_found());
        }
        let page =
            |name: &str| json!({"jsonrpc": "2.0", "id": request_id(request), "result": {"tools": [{"name": name}]}});
        let body = format!("data: {}\n\ndata: {}\n\n", page("first"), page("second"));
        Some(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    });
    let (_, out, error) = client(own.path(), &["tools", "--url", &url], None);
    assert_eq!(out.trim(), "first", "{error}");
}

#[test]
fn secrets_in_urls_and_tokens_are_not_leaked() {
    let own = tempfile::tempdir().unwrap();
    for (url, token, words) in [
        ("http://me:canary@127.0.0.1:1/", None, "MAINSTAY_TOKEN"),
        ("http://me:canary@127.0.0.1:x/", None, "not a valid URL"),
        ("http://127.0.0.1:1/?key=canary", None, "cannot reach"),
        ("http://mainstay.example/", Some("canary"), "without https"),
        ("http://10.0.0.1:1/", Some("canary"), "without https"),
    ] {
        let error = rejected(own.path(), &["tools", "--url", url, "--timeout", "1", "--log", "trace"], token);
        assert!(error.contains(words) && !error.contains("canary"), "{url}: {error}");
    }
}

#[test]
fn local_servers_are_not_reached_through_a_proxy() {
    let own = tempfile::tempdir().unwrap();
    let url = mira_server(|_| json!({"tools": [{"name": "here"}]}));
    let mut command = Command::new(PROGRAM);
    command.args(["tools", "--url", &url]).env("XDG_CONFIG_HOME", own.path()).current_dir(own.path());
    for name in ["NO_PROXY", "no_proxy", "MAINSTAY_TOKEN"] {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let out = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "here", "{}", String::from_utf8_lossy(&out.stderr));
}
