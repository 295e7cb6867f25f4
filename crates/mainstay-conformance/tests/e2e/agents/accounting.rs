//! What the dialect `agents` counts and audits, and how it rejects invalid messages.

use serde_json::{Value, json};

use crate::access::routes::{Issuer, with_auth};
use crate::agents::rules::{ask, audit, get, limited, log};
use crate::consent::approval::with_config;
use crate::testing::program::Server;

#[test]
fn a_malformed_call_counts_against_the_rate_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = limited(data.path(), 3);
    let mut http = server.connect();
    let wrong = json!({"name": "log_activity", "arguments": {"agent": 1}});
    let statuses: Vec<u16> = (0..4).map(|_| ask(&mut http, &[], "tools/call", &wrong).status).collect();
    assert_eq!(statuses, [400, 400, 400, 429]);
}

#[test]
fn the_status_counts_all_agents_lists_fifty_and_is_audited_once() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[engine.rate.per_dialect.agents]\ncalls = 10000\n");
    let mut http = server.connect();
    for number in 0..60 {
        let logged = json!({"agent": format!("agent-{number}"), "activity": number.to_string(), "category": "task"});
        let reply = ask(&mut http, &[], "tools/call", &json!({"name": "log_activity", "arguments": logged}));
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let gone = json!({"name": "update_status", "arguments": {"agent": "agent-7", "status": "offline"}});
    assert_eq!(ask(&mut http, &[], "tools/call", &gone).status, 200);
    let before = audit(&mut http, &[], "?limit=1000").len();
    let shown = get(&mut http, &[], "/api/mcp/status").message();
    let (agents, activities) = (shown["agents"].as_array().unwrap(), shown["activities"].as_array().unwrap());
    assert_eq!((agents.len(), activities.len(), &activities[0]["activity"]), (50, 50, &json!("59")));
    let stats = &shown["system_stats"];
    assert_eq!((&stats["total_activities"], &stats["active_agents"]), (&json!(60), &json!(59)));
    let rows = audit(&mut http, &[], "?limit=1000");
    // One of them is of looking at the audit itself.
    assert_eq!(rows.len(), before + 2, "{:?}", &rows[..3]);
    assert_eq!(rows[0][0], "api/mcp/status");
}

#[test]
fn an_expired_session_blocks_neither_a_new_one_nor_the_unknown_method_error() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let stale = [("X-Session-ID", "0123456789abcdef0123456789abcdef")];
    let mut code =
        |method: &str, params: &Value| ask(&mut http, &stale, method, params).message()["error"]["code"].take();
    assert_eq!(code("tools/list", &json!({})), -32602);
    assert_eq!(code("tools/call", &log("x")), -32602);
    assert_eq!(code("no/such", &json!({})), -32601);
    assert_eq!(code("no/such", &json!([])), -32601);
    assert_eq!(code("initialize", &json!({})), Value::Null);
}

#[test]
fn an_invalid_message_is_rejected_with_the_dialects_error() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nmessage_bytes = 2000\n");
    let host = server.address.to_string();
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(3000)}).to_string();
    let sound = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (line, kind, body, status) in [
        ("GET /jsonrpc", "application/json", "", 405),
        ("PUT /jsonrpc", "application/json", sound, 405),
        ("POST /jsonrpc", "text/plain", sound, 415),
        ("POST /jsonrpc", "application/json", long.as_str(), 400),
    ] {
        let headers = [("Host", host.as_str()), ("Content-Type", kind)];
        let reply = server.connect().send(line, &headers, body.as_bytes()).unwrap();
        let answer = reply.message();
        assert_eq!((reply.status, &answer["error"]["code"]), (status, &json!(-32600)), "{line} {kind}: {}", reply.body);
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&Value::Null, &json!("2.0")), "{line} {kind}");
        assert_eq!(reply.header("allow"), (status == 405).then_some("POST"));
    }
}

#[test]
fn unknown_methods_are_audited_by_name_and_share_one_metric() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    // Neither looks like the call of a tool, nor hides in the record.
    let long = "y".repeat(300);
    for method in ["log_activity", "file://etc/passwd", "a b\u{202e}\n", &long] {
        assert_eq!(ask(&mut http, &[], method, &json!({})).message()["error"]["code"], -32601);
    }
    let rows = audit(&mut http, &[], "");
    let expected = ["y".repeat(100), "a?b??".into(), "file://etc/passwd".into(), "log_activity".into()];
    assert_eq!(rows, expected.map(|name| ["jsonrpc".to_owned(), name, "unknown".to_owned()]));
    let metrics = get(&mut http, &[], "/metrics").body;
    assert!(metrics.contains("mainstay_calls_total{target=\"jsonrpc\",outcome=\"unknown\"} 4"), "{metrics}");
    assert!(!metrics.contains("passwd") && !metrics.contains("yyy"), "{metrics}");
}

#[test]
fn tokens_of_another_issuer_are_not_issued_here() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let reader = format!("Bearer {}", issuer.token(&json!({"scope": "read"})));
    let shown = get(&mut server.connect(), &[("Authorization", &reader)], "/api/mcp/security").message();
    assert_eq!(shown["security"]["oauth_enabled"], false, "{shown}");
}
