//! The dialect as its contract describes it.

use mainstay_core::{Annotations, Block, Body, Kind, Role};
use serde_json::json;

use super::*;
use crate::Id;
use crate::jsonrpc;

fn decode(text: &str) -> Option<Request> {
    Solana.decode(text.as_bytes())
}

fn ask(method: &str, params: &Value) -> Operation {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    decode(&message.to_string()).unwrap().operation
}

fn rejected(operation: Operation) -> ErrorResponse {
    if let Operation::Malformed(response) | Operation::InvalidParams(response) = operation {
        return response;
    }
    panic!("{operation:?}")
}

fn result(encoded: Encoded) -> Value {
    serde_json::from_slice(&encoded.unwrap()).unwrap()
}

#[test]
fn each_method_is_read_with_its_params() {
    let hello =
        json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    assert_eq!(ask("initialize", &hello), Operation::Initialize(hello.clone()));
    assert_eq!(ask("ping", &json!({})), Operation::Ping);
    assert_eq!(ask("tools/list", &json!({})), Operation::ListTools(json!({})));
    assert_eq!(ask("resources/list", &json!({})), Operation::ListResources);
    assert_eq!(ask("resources/templates/list", &json!({})), Operation::ListResourceTemplates);
    let called = ask("tools/call", &json!({"name": "getBalance", "arguments": {"pubkey": "1"}, "_meta": {}}));
    assert_eq!(called, Operation::CallTool { name: "getBalance".into(), args: Some(json!({"pubkey": "1"})) });
    let method = ask("getBalance", &json!({"pubkey": "1"}));
    assert_eq!(method, Operation::CallMethod { name: "getBalance".into(), args: Some(json!({"pubkey": "1"})) });
    let uri = "solana://mainnet/account/1";
    assert_eq!(ask("resources/read", &json!({"uri": uri})), Operation::ReadResource { uri: uri.into() });
}

#[test]
fn every_error_names_the_version_of_the_protocol() {
    for (method, params) in [
        ("initialize", json!({})),
        ("initialize", json!({"protocolVersion": 5})),
        ("initialize", json!({"protocolVersion": "2024-11-05", "capabilities": []})),
        ("initialize", json!({"protocolVersion": "2024-11-05", "clientInfo": {"version": "1"}})),
        ("tools/call", json!({})),
        ("tools/call", json!({"name": "a", "arguments": []})),
        ("tools/call", json!(["a"])),
        ("resources/read", json!({})),
        ("resources/read", json!({"uri": "file:///etc/passwd"})),
    ] {
        let error = rejected(ask(method, &params));
        assert_eq!(error.code, -32602, "{method} {params}");
        assert!(error.message.starts_with("Invalid params: "), "{}", error.message);
        assert_eq!(error.data.unwrap()["protocolVersion"], "2024-11-05", "{method} {params}");
    }
    for (text, code) in [("{", -32700), ("[]", -32600), (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, -32600)] {
        let error = rejected(decode(text).unwrap().operation);
        assert_eq!((error.code, &error.data), (code, &Some(json!({"protocolVersion": "2024-11-05"}))), "{text}");
    }
    for kind in Kind::ALL {
        let error = Solana.error(&Error::new(kind, "why").with_detail("secret"), "getBalance", Timestamp::UNIX_EPOCH);
        let client = matches!(kind, Kind::Invalid | Kind::Unknown | Kind::NotFound | Kind::Denied);
        assert_eq!(error.code, if client { -32602 } else { -32603 }, "{kind:?}");
        assert_eq!(error.data, Some(json!({"protocolVersion": "2024-11-05"})), "{kind:?}");
    }
    let internal = Solana.error(&Error::internal("secret"), "getBalance", Timestamp::UNIX_EPOCH);
    assert_eq!(internal.message, "Internal error");
}

#[test]
fn a_name_that_does_not_exist_is_a_method_not_found_or_a_wrong_argument() {
    let unknown = |kind| Solana.unknown_name(kind, "x", Timestamp::UNIX_EPOCH);
    assert_eq!(unknown("method").code, -32601);
    assert_eq!(unknown("tool").code, -32602);
}

#[test]
fn content_has_the_contracts_form_and_annotations() {
    let annotations = Annotations {
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.8),
        last_modified: Some("2024-01-15T10:00:00Z".parse().unwrap()),
    };
    let contents = Contents {
        uri: "solana://mainnet/account/1".into(),
        mime: Some("application/json".into()),
        body: Body::Text("{}".into()),
    };
    let priority = |priority| Annotations { priority: Some(priority), ..Annotations::default() };
    let reply = Reply::blocks(vec![
        Block::text("Content text here").annotated(annotations),
        Block::image(vec![1, 2], "image/png").annotated(Annotations { audience: vec![Role::User], ..priority(1.0) }),
        Block::resource(contents).annotated(priority(0.5)),
        Block::text("plain").annotated(Annotations::default()),
    ]);
    let expected = json!({"content": [
        {"type": "text", "text": "Content text here", "annotations":
            {"audience": ["user", "assistant"], "priority": 0.8, "lastModified": "2024-01-15T10:00:00Z"}},
        {"type": "image", "data": "AQI=", "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 1.0}},
        {"type": "resource", "annotations": {"priority": 0.5}, "resource":
            {"uri": "solana://mainnet/account/1", "mimeType": "application/json", "text": "{}"}},
        {"type": "text", "text": "plain"},
    ]});
    assert_eq!(result(Solana.reply("getBalance", reply)), expected);
}

#[test]
fn what_a_node_reports_is_a_result() {
    let failed = result(Solana.reply("sendTransaction", Reply::failure("BlockhashNotFound")));
    assert_eq!(failed, json!({"content": [{"type": "text", "text": "BlockhashNotFound"}], "isError": true}));
}

#[test]
fn nothing_but_initialize_and_ping_comes_before_the_handshake() {
    let mut state = ConnectionState::default();
    let list = Operation::ListTools(json!({}));
    let error = Solana.accept(&mut state, &list).unwrap_err();
    assert_eq!(error.code, -32002);
    assert_eq!(error.data, Some(json!({"protocolVersion": "2024-11-05"})));
    assert!(error.message.starts_with("Server not initialized"), "{}", error.message);
    Solana.accept(&mut state, &Operation::Ping).unwrap();
    Solana.accept(&mut state, &Operation::Initialize(json!({}))).unwrap();
    state.negotiated();
    Solana.accept(&mut state, &list).unwrap();
    Solana.accept(&mut state, &Operation::Initialized).unwrap();
    assert_eq!(Solana.accept(&mut state, &Operation::Initialize(json!({}))).unwrap_err().code, -32600);
}

#[test]
fn notifications_are_not_answered() {
    let notified = |method: &str| decode(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#));
    assert_eq!(notified("notifications/initialized"), Some(Request { id: None, operation: Operation::Initialized }));
    for method in ["tools/call", "getBalance", "notifications/x"] {
        assert_eq!(notified(method), None, "{method}");
    }
}

#[test]
fn what_http_rejects_is_answered_as_json_rpc() {
    let error = Solana.http_error(415, "Send the message as application/json.").unwrap();
    assert_eq!((error.code, error.http.status), (-32600, 415));
    let response: Value = serde_json::from_slice(&error.response(&Id::null())).unwrap();
    assert_eq!(response["error"]["data"], json!({"protocolVersion": "2024-11-05"}));
    assert_eq!(Solana.http_headers(), [("x-mcp-version", "2024-11-05"), ("cache-control", "no-cache")]);
    let too_long = Solana.too_long(&jsonrpc::Refusal::too_long(10));
    assert_eq!(too_long.code, -32600);
}

#[test]
fn health_says_what_the_contract_shows() {
    let expected = json!({
        "service": "solana-mcp-server",
        "version": "1.0.2",
        "protocol": "2024-11-05",
        "capabilities": {"tools": true, "resources": true, "prompts": false, "sampling": false},
    });
    assert_eq!(Value::Object(health()), expected);
}
