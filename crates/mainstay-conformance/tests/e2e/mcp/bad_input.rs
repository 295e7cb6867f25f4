//! Every invalid message gets its documented response, and the next request is served.

use serde_json::{Value, json};

use crate::testing::program::{Server, StdioServer, stateless_request};

/// What was sent, the code it is answered with, and the id in the answer.
pub(crate) fn table() -> Vec<(&'static str, Vec<u8>, i64, Value)> {
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":{}1{}}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"x":"{}"}}}}"#,
        "x".repeat(10 * 1024 * 1024)
    );
    let too_long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(1025));
    let plain = |text: &str| text.as_bytes().to_vec();
    vec![
        ("not JSON", plain("hello"), -32700, Value::Null),
        ("half an object", plain(r#"{"jsonrpc":"2.0","id":5,"#), -32700, Value::Null),
        ("invalid UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\xfe\"}".to_vec(), -32700, Value::Null),
        ("deep nesting", nested.into_bytes(), -32700, Value::Null),
        ("10 MB", long.into_bytes(), -32600, Value::Null),
        ("wrong jsonrpc", plain(r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#), -32600, json!(5)),
        ("no jsonrpc", plain(r#"{"id":5,"method":"ping"}"#), -32600, json!(5)),
        ("a batch", plain(r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#), -32600, Value::Null),
        ("an empty batch", plain("[]"), -32600, Value::Null),
        ("a null id", plain(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), -32600, Value::Null),
        ("an id that is too long", too_long.into_bytes(), -32600, Value::Null),
        ("an id that is an object", plain(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), -32600, Value::Null),
        ("a method that is a number", plain(r#"{"jsonrpc":"2.0","id":5,"method":7}"#), -32600, json!(5)),
        ("params that are text", plain(r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}"#), -32600, json!(5)),
        ("neither method nor result", plain(r#"{"jsonrpc":"2.0","id":5}"#), -32600, json!(5)),
    ]
}

/// What besides is wrong on the standard endpoint.
fn standard() -> Vec<(&'static str, Vec<u8>, i64, Value)> {
    let id = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).into_bytes();
    let mut table = table();
    table.push(("a fractional id", id("1.5"), -32600, Value::Null));
    table.push(("an id past 64 bits", id("9223372036854775808"), -32600, Value::Null));
    let name = "x".repeat(1025);
    let call = stateless_request(5, "tools/call", json!({"name": "probe_echo", "arguments": {"text": "x"}}));
    let call = call.to_string().replace("\"id\":5", &format!("\"id\":\"{name}\""));
    table.push(("a plain call with an id that is too long", call.into_bytes(), -32600, Value::Null));
    table
}

/// Sound frames that ask for what cannot be done: the params, and the code.
fn requests() -> Vec<(&'static str, &'static str, Value, i64)> {
    vec![
        ("unknown method", "no/such", json!({}), -32601),
        ("unknown tool", "tools/call", json!({"name": "no_such_tool", "arguments": {}}), -32602),
        ("a call without a name", "tools/call", json!({"arguments": {}}), -32602),
        ("a name that is a number", "tools/call", json!({"name": 7}), -32602),
        ("arguments that are text", "tools/call", json!({"name": "probe_echo", "arguments": "x"}), -32602),
        ("unknown prompt", "prompts/get", json!({"name": "no_such_prompt"}), -32602),
        ("a missing prompt argument", "prompts/get", json!({"name": "test_prompt_with_arguments"}), -32602),
        ("a cursor of somebody else", "tools/list", json!({"cursor": "nonsense"}), -32602),
        ("a resource without a URI", "resources/read", json!({}), -32602),
    ]
}

/// Calls whose arguments are wrong: the model is told, in words it can act on.
fn arguments() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    vec![
        ("wrong type", json!({"text": 7}), vec!["/text"]),
        ("missing", json!({}), vec!["text", "required"]),
        ("surplus", json!({"text": "a", "more": 1}), vec!["more"]),
        ("several at once", json!({"more": 1}), vec!["more", "required"]),
        ("null", json!({"text": null}), vec!["/text"]),
    ]
}

fn error(message: &Value) -> (i64, Value) {
    (message["error"]["code"].as_i64().unwrap_or_else(|| panic!("{message}")), message["id"].clone())
}

#[test]
fn over_stdio_every_invalid_request_is_answered_and_the_next_is_served() {
    let mut stdio = StdioServer::initialized();
    for (what, bytes, code, id) in standard() {
        stdio.write(&bytes);
        assert_eq!(error(&stdio.read().unwrap()), (code, id), "{what}");
        let pong = stdio.ask(&json!({"jsonrpc": "2.0", "id": what, "method": "ping"}));
        assert_eq!(pong, json!({"jsonrpc": "2.0", "id": what, "result": {}}), "after {what}");
    }
    for (what, method, params, code) in requests() {
        let answer = stdio.ask(&json!({"jsonrpc": "2.0", "id": what, "method": method, "params": params}));
        assert_eq!(error(&answer), (code, json!(what)), "{what}");
    }
    for (what, args, words) in arguments() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "probe_echo", "arguments": args}});
        let answer = stdio.ask(&call);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(answer["result"]["isError"], true, "{what}");
        assert!(words.iter().all(|word| text.contains(word)), "{what}: {text}");
    }
    // Blank lines and notifications nobody knows are no messages to answer.
    stdio.write(b"");
    stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/no_such"}"#);
    assert_eq!(stdio.ask(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}))["id"], 9);
}

#[test]
fn an_unterminated_last_line_is_answered_and_the_program_ends() {
    let mut stdio = StdioServer::initialized();
    stdio.write_part(br#"{"jsonrpc":"2.0","id":3,"method":"#);
    stdio.end_input();
    assert_eq!(error(&stdio.read().unwrap()), (-32700, Value::Null));
    assert_eq!(stdio.read(), None);
    assert_eq!(stdio.wait(), 0);
}

#[test]
fn requests_sent_before_the_end_of_input_are_still_answered() {
    let mut stdio = StdioServer::initialized();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "probe_sleep", "arguments": {"ms": 300}}});
    stdio.write(call.to_string().as_bytes());
    stdio.end_input();
    assert_eq!(stdio.read().unwrap()["id"], 1);
    assert_eq!(stdio.wait(), 0);
}

#[test]
fn an_open_subscription_does_not_keep_the_program_alive_after_the_end_of_input() {
    let mut stdio = StdioServer::start();
    let listening =
        stdio.ask(&stateless_request(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})));
    assert_eq!(listening["method"], "notifications/subscriptions/acknowledged");
    stdio.end_input();
    assert_eq!(stdio.read().unwrap()["id"], 1, "the subscription is ended, not forgotten");
    assert_eq!(stdio.wait(), 0);
}

#[test]
fn stdio_serves_a_client_that_never_initializes() {
    let mut stdio = StdioServer::start();
    let listed = stdio.ask(&stateless_request(1, "tools/list", json!({})));
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "server_echo"));
    let echoed =
        stdio.ask(&stateless_request(2, "tools/call", json!({"name": "server_echo", "arguments": {"text": "hi"}})));
    assert_eq!(echoed["result"]["structuredContent"]["text"], "hi");
}

#[test]
fn over_http_every_invalid_request_is_answered_and_the_next_is_served() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for (what, bytes, code, id) in standard() {
        let reply = server.connect().post(&[], &bytes).unwrap();
        let status = if what == "10 MB" { 413 } else { 400 };
        assert_eq!((reply.status, error(&reply.message())), (status, (code, id)), "{what}");
        assert_eq!(
            server.call("probe_echo", &json!({"text": "on"}))["result"]["structuredContent"]["text"],
            "on",
            "after {what}"
        );
    }
    let mut http = server.connect();
    for (what, method, params, code) in requests() {
        let reply = http.request(method, params, &[]).unwrap();
        let status = if code == -32601 { 404 } else { 200 };
        assert_eq!((reply.status, error(&reply.message()).0), (status, code), "{what}");
    }
    for (what, args, words) in arguments() {
        let answer = http.call("probe_echo", &args);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(answer["result"]["isError"], true, "{what}");
        assert!(words.iter().all(|word| text.contains(word)), "{what}: {text}");
    }
}

#[test]
fn an_unknown_protocol_version_is_answered_with_the_supported_ones() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut request = stateless_request(1, "tools/list", json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let headers = [("MCP-Protocol-Version", "2030-01-01"), ("Mcp-Method", "tools/list")];
    let reply = server.connect().post(&headers, request.to_string().as_bytes()).unwrap();
    let message = reply.message();
    assert_eq!((reply.status, error(&message).0), (400, -32022));
    assert!(message["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[test]
fn headers_that_contradict_the_body_are_rejected() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let body =
        stateless_request(1, "tools/call", json!({"name": "probe_echo", "arguments": {"text": "x"}})).to_string();
    let wrong = [
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"), ("Mcp-Name", "probe_echo")],
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "probe_append")],
        [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "probe_echo")],
    ];
    for headers in wrong {
        let reply = server.connect().post(&headers, body.as_bytes()).unwrap();
        assert_eq!((reply.status, error(&reply.message()).0), (400, -32020), "{headers:?}");
    }
}
