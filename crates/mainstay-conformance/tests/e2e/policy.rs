//! The policies of the call pipeline, tested from outside.

use serde_json::{Value, json};

use crate::testing::program::{Server, run, stateless_request};

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
    let keyed = |http: &mut crate::testing::program::Http| {
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
fn a_destructive_call_waits_for_approval_and_runs_once() {
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
fn a_declined_call_is_not_run() {
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
fn a_client_without_elicitation_is_told_which_consent_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut request =
        stateless_request(1, "tools/call", json!({"name": "probe_destroy", "arguments": {"file": "kept"}}));
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "probe_destroy")];
    let rejected = server.connect().post(&headers, request.to_string().as_bytes()).unwrap().message();
    assert_eq!(kind(&rejected), "consent_required");
    assert!(rejected["result"]["_meta"]["io.mainstay/error"]["data"]["consent_id"].is_string());
}

#[test]
fn a_rate_limit_applies_to_the_client_and_not_to_the_connection() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[engine.rate.per_tool.probe_echo]\ncalls = 3\nseconds = 3600\n")
        .unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    for _ in 0..3 {
        assert_eq!(server.call("probe_echo", &json!({"text": "x"}))["result"]["isError"], false);
    }
    let forged = [("X-Client-IP", "9.9.9.9")];
    let rejected = server
        .connect()
        .request("tools/call", json!({"name": "probe_echo", "arguments": {"text": "x"}}), &forged)
        .unwrap()
        .message();
    assert_eq!(kind(&rejected), "rate_limited");
    assert!(rejected["result"]["_meta"]["io.mainstay/error"]["data"]["retry_after"].as_u64().unwrap() > 0);
}

#[test]
fn a_panicking_tool_affects_no_other_call_and_leaks_nothing() {
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
    stop(&server);
    let (code, rows, _) = run(data.path(), &["audit", "show"]);
    assert_eq!(code, 0);
    assert!(rows.contains("probe_append") && rows.contains("probe_echo") && !rows.contains("canary"), "{rows}");
}

/// Stops the server as an operator does, so that everything is in the one file.
fn stop(server: &Server) {
    server.terminate();
    assert_eq!(server.wait(), 0);
}

#[test]
fn audit_verify_names_a_modified_row() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let answers: Vec<Value> = (0..5).map(|_| server.call("probe_append", &json!({"file": "a", "line": "x"}))).collect();
    stop(&server);
    let (code, out, _) = run(data.path(), &["audit", "verify"]);
    assert_eq!((code, out.starts_with("intact: 10 rows; head 10:")), (0, true), "{out}");
    let head = out.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(run(data.path(), &["audit", "verify", "--head", &head]).0, 0);
    let wrong = format!("4:{}", "0".repeat(64));
    assert_eq!(run(data.path(), &["audit", "verify", "--head", &wrong]).0, 1);
    // The third call's first row is row 5; one letter of its request id is changed in the file itself.
    let id = answers[2]["result"]["_meta"]["io.mainstay/requestId"].as_str().unwrap();
    let file = data.path().join("mainstay.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // A page of the file fills from its end, so the earlier row is the later one there.
    let at = bytes.windows(id.len()).rposition(|window| window == id.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (code, out, _) = run(data.path(), &["audit", "verify"]);
    assert_eq!(code, 1);
    assert!(out.contains("row 5 was changed or moved"), "{out}");
}

#[test]
fn two_hundred_calls_on_one_connection_are_all_answered() {
    let mut stdio = crate::testing::program::StdioServer::initialized();
    for id in 0..200 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "probe_sleep", "arguments": {"ms": 300}}});
        stdio.write(call.to_string().as_bytes());
    }
    let mut seen: Vec<i64> = (0..200).map(|_| stdio.read().unwrap()["id"].as_i64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
}

#[test]
fn an_idempotency_key_cannot_be_reused_for_another_call() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let append = |line: &str| json!({"name": "probe_append", "arguments": {"file": "a", "line": line}});
    http.request("tools/call", append("x"), &[("Idempotency-Key", "k")]).unwrap();
    assert_eq!(
        kind(&http.request("tools/call", append("y"), &[("Idempotency-Key", "k")]).unwrap().message()),
        "conflict"
    );
    // A key that cannot be used is refused: to run without it would be to run twice.
    let mut number = append("z");
    number["_meta"] = json!({"io.mainstay/idempotencyKey": 7});
    assert_eq!(http.request("tools/call", number, &[]).unwrap().message()["error"]["code"], -32602);
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")];
    assert_eq!(http.request("tools/call", append("z"), &twice).unwrap().message()["error"]["code"], -32602);
    assert_eq!(lines(data.path(), "a"), 1);
}

#[test]
fn a_write_whose_client_disconnected_is_audited_and_its_key_is_not_reusable() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let call =
        stateless_request(1, "tools/call", json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}}))
            .to_string();
    for round in 0..20 {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: probe_append\r\nIdempotency-Key: k{round}\r\nContent-Length: {}\r\n\r\n{call}",
            server.address,
            call.len()
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(200 * round));
        drop(stream);
        let again = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
        let key = format!("k{round}");
        let answer = server.connect().request("tools/call", again, &[("Idempotency-Key", &key)]).unwrap().message();
        let done = answer["result"]["isError"] == false;
        assert!(done || kind(&answer) == "conflict", "{answer}");
    }
    assert!(lines(data.path(), "a") <= 20);
    stop(&server);
    let (_, rows, _) = run(data.path(), &["audit", "show", "--limit", "1000"]);
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let of =
        |phase: &'static str| rows.iter().filter(move |row| row["phase"] == phase && row["target"] == "probe_append");
    for began in of("began") {
        assert!(of("ended").any(|ended| ended["request_id"] == began["request_id"]), "{began} has no end");
    }
}
