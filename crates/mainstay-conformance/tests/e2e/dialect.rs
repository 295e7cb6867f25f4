//! The smallest dialect, over stdio and HTTP: what the dispatcher gives every dialect without a line of its own.

use mainstay_wire::testing::{NAME, RESPONSE_BYTES};
use serde_json::{Value, json};

use crate::testing::program::{Server, StdioServer};

fn ask(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(text: &str) -> Value {
    ask("tools/call", &json!({"name": "probe_echo", "arguments": {"text": text}}))
}

/// Requests, and what the error says about each; none for those that succeed.
fn table() -> Vec<(Value, Option<Value>)> {
    let error = |kind: &str| Some(json!({ "kind": kind }));
    vec![
        (call("hello"), None),
        (ask("tools/list", &json!({})), None),
        (call(&"x".repeat(RESPONSE_BYTES)), error("too_large")),
        (ask("tools/call", &json!({"name": "probe_echo", "arguments": {"text": 1}})), error("invalid")),
        (ask("tools/call", &json!({"name": "no_such"})), error("unknown")),
        (ask("tools/call", &json!({})), Some(Value::Null)),
        (ask("no/such", &json!({})), Some(Value::Null)),
    ]
}

fn check(answer: &Value, expected: Option<&Value>) {
    match expected {
        None => assert!(answer.get("error").is_none(), "{answer}"),
        Some(data) => assert_eq!(&answer["error"]["data"], data, "{answer}"),
    }
    assert_eq!(answer["id"], 1, "{answer}");
}

#[test]
fn a_dialect_is_served_over_stdio_by_its_line_in_the_list() {
    let mut stdio = StdioServer::speaking(NAME);
    assert_eq!(stdio.ask(&call("hello"))["result"], json!({"text": "hello"}));
    for (request, expected) in table() {
        check(&stdio.ask(&request), expected.as_ref());
    }
}

#[test]
fn a_dialect_is_served_over_http_by_its_route() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    for (request, expected) in table() {
        check(&http.rpc("/minimal", &[], &request).message(), expected.as_ref());
    }
    let listed = http.rpc("/minimal", &[], &ask("tools/list", &json!({}))).message();
    assert!(listed["result"].as_array().unwrap().contains(&json!("probe_echo")), "{listed}");
}
