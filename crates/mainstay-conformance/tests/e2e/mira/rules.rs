//! Policies where mira differs: names in settings, ids, closed arguments, lists.

use std::path::Path;

use serde_json::{Value, json};

use crate::testing::program::{Http, Server, StdioServer, run, wait_until};

fn ask(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn rpc(http: &mut Http, method: &str, params: &Value) -> Value {
    http.rpc("/rpc", &[], &ask(method, params)).message()
}

fn configured(data: &Path, text: &str, args: &[&str]) -> Vec<String> {
    let file = data.join("c.toml");
    std::fs::write(&file, text).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    args.iter().copied().chain(config).map(str::to_owned).collect()
}

fn start(data: &Path, text: &str) -> Server {
    let args = configured(data, text, &[]);
    Server::start(data, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_setting_accepts_a_tool_name_in_any_spelling() {
    for name in ["probe/echo", "probe_echo"] {
        let data = tempfile::tempdir().unwrap();
        let text = format!(
            "[engine.rate.per_tool.\"{name}\"]\ncalls = 1\nseconds = 3600\n[engine.consent]\nrequired_for_tools = [\"{}\"]\n",
            name.replace("echo", "append")
        );
        let server = start(data.path(), &text);
        let mut http = server.connect();
        let listed = rpc(&mut http, "tools/list", &json!({"filter": {"names": ["probe/echo"]}}));
        assert_eq!(listed["result"]["tools"][0]["rate_limit"], json!({"calls": 1, "seconds": 3600}), "{name}");
        assert_eq!(rpc(&mut http, "probe/echo", &json!({"text": "x"}))["result"]["text"], "x", "{name}");
        assert_eq!(rpc(&mut http, "probe/echo", &json!({"text": "x"}))["error"]["code"], 1004, "{name}");
        let unapproved = rpc(&mut http, "probe/append", &json!({"file": "a", "line": "x"}));
        assert_eq!(unapproved["error"]["code"], 1002, "{name}: {unapproved}");
        assert!(unapproved["error"]["data"]["consent_id"].is_string(), "{name}: {unapproved}");
    }
}

#[test]
fn a_setting_with_an_unknown_tool_name_stops_the_start() {
    for (text, words) in [
        ("[engine.rate.per_tool.\"probe/ecko\"]\ncalls = 1\n", ["engine.rate.per_tool", "\"probe/ecko\""]),
        (
            "[engine.consent]\nrequired_for_tools = [\"files_writ\"]\n",
            ["engine.consent.required_for_tools", "\"files_writ\""],
        ),
        (
            "[engine.rate.per_tool.\"probe/echo\"]\ncalls = 1\n[engine.rate.per_tool.probe_echo]\ncalls = 2\n",
            ["engine.rate.per_tool", "another spelling"],
        ),
    ] {
        let data = tempfile::tempdir().unwrap();
        let args = configured(data.path(), text, &["stdio"]);
        let (code, _, error) = run(data.path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 1, "{text}");
        assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
    }
}

#[test]
fn every_number_and_string_id_is_returned_as_written() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let longest = format!("\"{}\"", "x".repeat(1024));
    for id in ["1.5", "1e3", "9223372036854775808", "-7", "0.10", "\"\\u00fc\"", &longest] {
        let call = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        for method in ["server/time", "no/such"] {
            let host = server.address.to_string();
            let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
            let reply = http.send("POST /rpc", &headers, call(method).as_bytes()).unwrap();
            assert!(reply.body.contains(&format!("\"id\":{id},")), "{method} {id}: {}", reply.body);
        }
    }
    let mut stdio = StdioServer::speaking("mira");
    stdio.write(br#"{"jsonrpc":"2.0","id":1.50,"method":"probe/say","params":{"pieces":["a"],"stream":true}}"#);
    for _ in 0..2 {
        let line = stdio.read_text().unwrap();
        assert!(line.contains("\"id\":1.50,"), "{line}");
    }
}

fn rows(data: &Path) -> Vec<Value> {
    let (_, rows, _) = run(data, &["audit", "show", "--limit", "1000"]);
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

#[test]
fn rejected_arguments_are_audited_and_counted_like_any_call() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), "disabled_tools = [\"files/read\"]\n");
    let mut http = server.connect();
    let rejected = rpc(&mut http, "files/write", &json!({"path": "a", "content": "x", "dry_run": true}));
    assert_eq!((&rejected["error"]["code"], &rejected["error"]["data"]["field"]), (&json!(-32602), &json!("dry_run")));
    let off = rpc(&mut http, "files/read", &json!({"paht": "a"}));
    assert_eq!(off["error"]["code"], 1006, "a tool that is off is off, whatever it is called with: {off}");
    let host = server.address.to_string();
    let metrics = http.send("GET /metrics", &[("Host", &host)], b"").unwrap().body;
    assert!(metrics.lines().any(|line| line.contains("\"files_write\"") && line.contains("\"invalid\"")), "{metrics}");
    server.terminate();
    assert_eq!(server.wait(), 0);
    let rows = rows(data.path());
    assert!(rows.iter().any(|row| row["target"] == "files_write" && row["outcome"] == "invalid"), "{rows:?}");
}

#[test]
fn a_list_request_counts_like_a_call() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), "[engine.rate.per_client]\ncalls = 3\nseconds = 3600\n");
    let mut http = server.connect();
    assert!(rpc(&mut http, "tools/list", &json!({}))["result"]["tools"].is_array());
    assert!(http.request("tools/list", json!({}), &[]).unwrap().message()["result"]["tools"].is_array());
    assert_eq!(rpc(&mut http, "probe/echo", &json!({"text": "x"}))["result"]["text"], "x");
    let rejected = rpc(&mut http, "tools/list", &json!({}));
    assert_eq!(rejected["error"]["code"], 1004, "{rejected}");
    let rejected = http.request("tools/list", json!({}), &[]).unwrap().message();
    assert!(rejected["error"]["data"]["retry_after"].is_u64(), "{rejected}");
}

#[test]
fn an_integer_written_as_a_fraction_is_accepted() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let listed = rpc(&mut server.connect(), "tools/list", &json!({"limit": 2.0}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(2), "{listed}");
    let mut stdio = StdioServer::initialized();
    let answer = stdio.ask(&ask("tools/call", &json!({"name": 7})));
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("tools/call") && !said.contains("enum"), "{said}");
}

#[test]
fn audit_head_of_the_largest_number_is_not_found() {
    let data = tempfile::tempdir().unwrap();
    run(data.path(), &["call", "probe_echo", "text=x"]);
    wait_until(|| !rows(data.path()).is_empty());
    let head = format!("{}:{}", i64::MAX, "0".repeat(64));
    let (code, out, error) = run(data.path(), &["audit", "verify", "--head", &head]);
    assert_eq!(code, 1, "{error}");
    assert!(out.contains(&format!("row {} does not match --head", i64::MAX)), "{out}{error}");
}
