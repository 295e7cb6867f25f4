//! The rules of the road, met from outside.

use serde_json::{Value, json};

use crate::program::{Server, modern, run};

fn kind(message: &Value) -> &str {
    message["result"]["_meta"]["io.mainstay/error"]["kind"].as_str().unwrap_or_else(|| panic!("{message}"))
}

fn lines(data: &std::path::Path, file: &str) -> usize {
    std::fs::read_to_string(data.join("probe").join(file)).map_or(0, |text| text.lines().count())
}

#[test]
fn a_call_with_an_idempotency_key_happens_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let call = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    let keyed = |http: &mut crate::program::Http| {
        http.request("tools/call", call.clone(), &[("Idempotency-Key", "k1")]).unwrap().message()
    };
    let (first, second) = (keyed(&mut http), keyed(&mut http));
    assert_eq!(first["result"]["structuredContent"], second["result"]["structuredContent"]);
    assert_eq!(lines(data.path(), "a"), 1);
    let mut in_meta = call.clone();
    in_meta["_meta"] = json!({"io.mainstay/idempotencyKey": "k1"});
    http.request("tools/call", in_meta, &[]).unwrap();
    assert_eq!(lines(data.path(), "a"), 1);
    http.request("tools/call", call, &[]).unwrap();
    assert_eq!(lines(data.path(), "a"), 2);
}

#[test]
fn a_call_that_destroys_waits_for_a_person_and_runs_once_after_approval() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    http.call("probe_append", &json!({"file": "doomed", "line": "x"}));
    let args = json!({"name": "probe_destroy", "arguments": {"file": "doomed"}});
    let asked = http.request("tools/call", args.clone(), &[]).unwrap().message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answered = |arguments: Value, state: &str| {
        json!({"name": "probe_destroy", "arguments": arguments, "requestState": state,
               "inputResponses": {key.clone(): {"action": "accept", "content": {}}}})
    };
    // Neither an answer without our state, nor our state with other arguments, nor a changed state counts.
    let mut forged = answered(json!({"file": "doomed"}), &state);
    forged.as_object_mut().unwrap().remove("requestState");
    assert_eq!(http.request("tools/call", forged, &[]).unwrap().message()["result"]["resultType"], "input_required");
    for wrong in [answered(json!({"file": "other"}), &state), answered(json!({"file": "doomed"}), &format!("{state}x"))]
    {
        assert_eq!(http.request("tools/call", wrong, &[]).unwrap().message()["error"]["code"], -32602);
    }
    assert!(data.path().join("probe/doomed").exists());
    let done = http.request("tools/call", answered(json!({"file": "doomed"}), &state), &[]).unwrap().message();
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert!(!data.path().join("probe/doomed").exists());
    let replayed = http.request("tools/call", answered(json!({"file": "doomed"}), &state), &[]).unwrap().message();
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
}

#[test]
fn a_person_who_declines_is_obeyed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    http.call("probe_append", &json!({"file": "kept", "line": "x"}));
    let asked = http.call("probe_destroy", &json!({"file": "kept"}));
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answer = json!({"name": "probe_destroy", "arguments": {"file": "kept"}, "requestState": asked["result"]["requestState"],
        "inputResponses": {key: {"action": "decline"}}});
    assert_eq!(kind(&http.request("tools/call", answer, &[]).unwrap().message()), "denied");
    assert!(data.path().join("probe/kept").exists());
}

#[test]
fn a_client_that_cannot_be_asked_is_told_which_consent_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut request = modern(1, "tools/call", json!({"name": "probe_destroy", "arguments": {"file": "kept"}}));
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "probe_destroy")];
    let refused = server.connect().post(&headers, request.to_string().as_bytes()).unwrap().message();
    assert_eq!(kind(&refused), "consent_required");
    assert!(refused["result"]["_meta"]["io.mainstay/error"]["data"]["consent_id"].is_string());
}

#[test]
fn a_rate_limit_is_the_clients_and_not_the_connections() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[engine.rate.per_tool.probe_echo]\ncalls = 3\nseconds = 3600\n")
        .unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    for _ in 0..3 {
        assert_eq!(server.call("probe_echo", &json!({"text": "x"}))["result"]["isError"], false);
    }
    let forged = [("X-Forwarded-For", "9.9.9.9")];
    let refused = server
        .connect()
        .request("tools/call", json!({"name": "probe_echo", "arguments": {"text": "x"}}), &forged)
        .unwrap()
        .message();
    assert_eq!(kind(&refused), "rate_limited");
    assert!(refused["result"]["_meta"]["io.mainstay/error"]["data"]["retry_after"].as_u64().unwrap() > 0);
}

#[test]
fn a_tool_that_panics_takes_nothing_down_and_tells_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let failed = server.call("probe_panic", &json!({}));
    assert_eq!(kind(&failed), "internal");
    assert!(!failed.to_string().contains("panicked"), "{failed}");
    assert_eq!(server.call("probe_echo", &json!({"text": "on"}))["result"]["structuredContent"]["text"], "on");
}

#[test]
fn a_canary_in_arguments_reaches_no_audit_row_and_no_metric() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    http.call("probe_append", &json!({"file": "a", "line": "canary-7f3a"}));
    http.call("probe_echo", &json!({"text": "canary-7f3a"}));
    http.call("probe_echo", &json!({"text": 7, "canary-7f3a": "x"}));
    let host = server.address.to_string();
    let metrics = http.send("GET /metrics", &[("Host", &host)], b"").unwrap();
    assert!(
        metrics.body.contains("mainstay_calls_total{target=\"probe_append\",outcome=\"ok\"} 1"),
        "{}",
        metrics.body
    );
    assert!(!metrics.body.contains("canary"));
    drop(server);
    let (code, rows, _) = run(data.path(), &["audit", "show"]);
    assert_eq!(code, 0);
    assert!(rows.contains("probe_append") && !rows.contains("canary"), "{rows}");
}

#[test]
fn the_audit_names_a_row_that_was_changed_behind_its_back() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for _ in 0..5 {
        server.call("probe_append", &json!({"file": "a", "line": "x"}));
    }
    drop(server);
    let (code, out, _) = run(data.path(), &["audit", "verify"]);
    assert_eq!((code, out.starts_with("whole: 10 rows; head 10:")), (0, true), "{out}");
    let head = out.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(run(data.path(), &["audit", "verify", "--head", &head]).0, 0);
    let wrong = format!("4:{}", "0".repeat(64));
    assert_eq!(run(data.path(), &["audit", "verify", "--head", &wrong]).0, 1);
}

#[test]
fn one_connection_runs_128_calls_at_once_and_the_rest_wait() {
    let mut stdio = crate::program::Piped::initialized();
    for id in 0..200 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "probe_sleep", "arguments": {"ms": 300}}});
        stdio.write(call.to_string().as_bytes());
    }
    let mut seen: Vec<i64> = (0..200).map(|_| stdio.read().unwrap()["id"].as_i64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
}
