//! What is accepted in which state of the connection, and how tools are called.

use serde_json::{Value, json};

use super::{ask, error, greeted, initialize, start};

#[test]
fn nothing_is_answered_before_initialize_and_a_second_one_is_refused() {
    let mut server = start();
    for (method, params) in [
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "probe_echo", "arguments": {"text": "x"}})),
        ("probe_echo", json!({"text": "x"})),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("shutdown", json!({})),
        ("no/such", json!({})),
        ("tools/call", json!({})),
    ] {
        let answer = server.ask(&ask(&json!(7), method, &params));
        let (code, detail) = error(&answer);
        assert_eq!((code, &answer["error"]["message"]), (-32600, &json!("Invalid request")), "{method}");
        assert!(detail.contains("initialize"), "{method}: {detail}");
        assert_eq!(answer["id"], 7);
    }
    // Neither opens the connection: it is a notification, and it comes too early.
    server.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.write(br#"{"jsonrpc":"2.0","method":"initialize","params":{}}"#);
    assert_eq!(error(&server.ask(&ask(&json!(8), "ping", &json!({})))).0, -32600);

    let reply = server.ask(&initialize());
    let contract = json!({"jsonrpc": "2.0", "id": "1", "result": {"protocolVersion": "2024-11-05", "capabilities": {},
        "serverInfo": {"name": "paiml-mcp-agent-toolkit", "version": "0.5.3"}}});
    assert_eq!(reply, contract);
    for _ in 0..2 {
        assert_eq!(error(&server.ask(&initialize())).0, -32600);
        assert_eq!(server.ask(&ask(&json!(9), "ping", &json!({})))["result"], json!({}));
    }
}

#[test]
fn requests_that_are_piped_in_behind_initialize_are_answered() {
    let mut server = start();
    let mut lines = vec![initialize().to_string()];
    lines.extend((0..50).map(|id| ask(&json!(id), "probe_echo", &json!({"text": "x"})).to_string()));
    server.write(lines.join("\n").as_bytes());
    server.end_input();
    let answers: Vec<Value> = std::iter::from_fn(|| server.read()).collect();
    assert_eq!((answers.len(), &answers[0]["id"]), (51, &json!("1")));
    assert!(answers.iter().all(|answer| answer["result"].is_object()), "{answers:?}");
    assert_eq!(server.wait(), 0);
}

#[test]
fn another_version_is_answered_with_the_contracts() {
    for params in [json!({}), json!({"protocolVersion": "2030-01-01"})] {
        let reply = start().ask(&ask(&json!(1), "initialize", &params));
        assert_eq!(reply["result"]["protocolVersion"], "2024-11-05");
    }
    let mut server = start();
    let broken = server.ask(&ask(&json!(1), "initialize", &json!({"protocolVersion": 5})));
    assert_eq!(error(&broken).0, -32602, "it is not a handshake: {broken}");
    assert!(server.ask(&initialize())["result"].is_object(), "and can be repeated");
}

#[test]
fn a_tool_is_called_by_tools_call_and_as_a_method() {
    let mut server = greeted();
    let arguments = json!({"text": "hello"});
    let called = server.ask(&ask(&json!(1), "tools/call", &json!({"name": "probe_echo", "arguments": arguments})));
    assert_eq!(called["result"], json!({"content": [{"type": "text", "text": r#"{"text":"hello"}"#}]}));
    assert_eq!(server.ask(&ask(&json!(2), "probe_echo", &arguments))["result"], arguments);
    // One name each, and tools that have none in this dialect do not exist.
    for name in ["probe/echo", "server_echo", "files_read", "no_such"] {
        let method = server.ask(&ask(&json!(3), name, &json!({})));
        assert_eq!((error(&method).0, &method["error"]["message"]), (-32601, &json!("Method not found")), "{name}");
        let tool = server.ask(&ask(&json!(4), "tools/call", &json!({ "name": name })));
        assert_eq!((error(&tool).0, &tool["error"]["message"]), (-32602, &json!("Invalid params")), "{name}");
    }
    for (method, params) in [
        ("probe_echo", json!({})),
        ("probe_echo", json!({"text": 1})),
        ("probe_echo", json!({"text": "x", "more": 1})),
        ("probe_echo", json!(["x"])),
        ("tools/call", json!({"name": "probe_echo", "arguments": ["x"]})),
        ("prompts/get", json!({"name": "no_such"})),
    ] {
        let answer = server.ask(&ask(&json!(5), method, &params));
        assert_eq!(error(&answer).0, -32602, "{method} {params}: {answer}");
    }
    let both = server.ask(&ask(&json!(6), "probe_echo", &json!({"text": 1, "more": 1})));
    assert_eq!(both["error"]["data"]["problems"].as_array().unwrap().len(), 2, "all problems: {both}");
    let uri = server.ask(&ask(&json!(7), "resources/read", &json!({"uri": "file:///etc/passwd"})));
    assert_eq!((error(&uri).0, &uri["error"]["data"]["uri"]), (-32001, &json!("file:///etc/passwd")));
}

#[test]
fn only_the_contracts_tools_are_listed() {
    let listed = greeted().ask(&ask(&json!(1), "tools/list", &json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| !tool["name"].as_str().unwrap().starts_with("probe")), "{listed}");
}

#[test]
fn a_request_that_is_cancelled_is_answered_at_once() {
    let mut server = greeted();
    for id in [json!("a\u{e9}"), json!(7)] {
        server.write(ask(&id, "probe_sleep", &json!({"ms": 300_000})).to_string().as_bytes());
        let other = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "other"}});
        server.write(other.to_string().as_bytes());
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        server.write(cancel.to_string().as_bytes());
        let answer = server.read().unwrap();
        let (code, detail) = error(&answer);
        assert_eq!((code, &answer["id"]), (-32603, &id));
        assert!(detail.contains("cancelled") || detail.contains("Woken up"), "{detail}");
    }
    assert_eq!(server.ask(&ask(&json!(8), "ping", &json!({})))["result"], json!({}));
    // Although no further request could run.
    for id in 0..128 {
        server.write(ask(&json!(id), "probe_sleep", &json!({"ms": 300_000})).to_string().as_bytes());
    }
    server.write(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#);
    assert_eq!(server.read().unwrap()["id"], 77);
}

#[test]
fn notifications_are_not_answered() {
    let mut server = greeted();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"probe_echo","params":{"text":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
    ] {
        server.write(line.as_bytes());
    }
    assert_eq!(server.ask(&ask(&json!("after"), "ping", &json!({})))["id"], "after");
}
