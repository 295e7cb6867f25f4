//! Calls that wait for consent, and the ways to decide on it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::access::routes::{Issuer, with_auth};
use crate::testing::program::{Http, Reply, Server, initialize, run};

pub(crate) fn with_config(data: &Path, config: &str) -> Server {
    std::fs::write(data.join("c.toml"), config).unwrap();
    Server::start(data, &["--config", data.join("c.toml").to_str().unwrap()])
}

/// A call of somebody who cannot be asked: the consent it needs, or its result.
pub(crate) fn destroy(http: &mut Http, file: &str, headers: &[(&str, &str)]) -> Result<Value, Value> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/destroy", "params": {"file": file}});
    let mut answer = http.rpc("/rpc", headers, &message).message();
    if answer["result"].is_object() { Ok(answer["result"].take()) } else { Err(answer["error"]["data"].take()) }
}

pub(crate) fn get(http: &mut Http, path: &str, more: &[(&str, &str)]) -> Reply {
    let host = http.host();
    let mut headers = vec![("Host", host.as_str())];
    headers.extend(more);
    http.send(&format!("GET {path}"), &headers, b"").unwrap()
}

pub(crate) fn decide(http: &mut Http, path: &str, decision: &str, more: &[(&str, &str)]) -> Reply {
    http.rpc(path, more, &json!({"decision": decision, "reason": "User authorized"}))
}

pub(crate) fn create_file(data: &Path, file: &str) {
    std::fs::create_dir_all(data.join("probe")).unwrap();
    std::fs::write(data.join("probe").join(file), "x").unwrap();
}

#[test]
fn the_contracts_own_curl_grants_consent_and_the_call_succeeds_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    create_file(data.path(), "a");
    let needed = destroy(&mut http, "a", &[]).unwrap_err();
    let (id, url) = (needed["consent_id"].as_str().unwrap(), needed["consent_url"].as_str().unwrap());
    assert_eq!((url, needed["operation"].as_str()), (&*format!("/api/mcp/consent/{id}"), Some("probe_destroy")));
    let shown = get(&mut http, url, &[]).message();
    assert_eq!((&shown["status"], &shown["requested_by"]), (&json!("pending"), &json!("local")));
    assert!(shown["arguments"].as_str().unwrap().contains("\"file\": \"a\""), "{shown}");
    let decided = decide(&mut http, url, "approved", &[]);
    assert_eq!(decided.message(), json!({"success": true, "consent_id": id, "status": "approved"}));
    assert_eq!(decide(&mut http, url, "denied", &[]).status, 409);
    assert_eq!(destroy(&mut http, "a", &[]).unwrap()["destroyed"], "a");
    assert_eq!(get(&mut http, url, &[]).message()["status"], "used");
    create_file(data.path(), "a");
    assert_ne!(destroy(&mut http, "a", &[]).unwrap_err()["consent_id"], id);
    assert!(data.path().join("probe/a").exists());
}

#[test]
fn an_invalid_decision_is_rejected() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let url = destroy(&mut http, "a", &[]).unwrap_err()["consent_url"].as_str().unwrap().to_owned();
    assert_eq!(decide(&mut http, "/api/mcp/consent/unknown", "approved", &[]).status, 404);
    assert_eq!(decide(&mut http, &url, "maybe", &[]).status, 400);
    assert_eq!(http.rpc(&url, &[], &json!({"decision": "approved", "confirm": true})).status, 400);
    let host = http.host();
    let text = [("Host", host.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(http.send(&format!("POST {url}"), &text, br#"{"decision":"approved"}"#).unwrap().status, 415);
    // A page of another origin can make a browser send this, and is refused before anybody looks at it.
    assert_eq!(decide(&mut http, &url, "approved", &[("Origin", "http://evil.example")]).status, 403);
    assert_eq!(get(&mut http, &url, &[]).message()["status"], "pending");
}

#[test]
fn the_command_line_lists_approves_and_denies() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    create_file(data.path(), "a");
    let needed = ["a", "b"].map(|file| destroy(&mut http, file, &[]).unwrap_err());
    let ids = needed.map(|data| data["consent_id"].as_str().unwrap().to_owned());
    let (code, listed, _) = run(data.path(), &["consent", "list"]);
    assert!(code == 0 && ids.iter().all(|id| listed.contains(id)) && listed.contains("probe_destroy"), "{listed}");
    assert_eq!(run(data.path(), &["consent", "approve", &ids[0], "--reason", "known"]).0, 0);
    assert_eq!(run(data.path(), &["consent", "deny", &ids[1]]).0, 0);
    for (id, words) in [(ids[1].as_str(), "already decided"), ("unknown", "no consent request")] {
        let (code, _, error) = run(data.path(), &["consent", "approve", id]);
        assert!(code == 1 && error.contains(words), "{error}");
    }
    assert!(destroy(&mut http, "a", &[]).is_ok());
    assert!(destroy(&mut http, "b", &[]).unwrap_err()["detail"].as_str().unwrap().contains("not approved"));
    let (_, rows, _) = run(data.path(), &["audit", "show"]);
    assert!(rows.contains("\"principal\":\"cli:") && rows.contains("approved: known"), "{rows}");
}

#[test]
fn with_network_access_for_commands_only_the_command_line_decides() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[exec]\nnetwork = \"on\"\n");
    let mut http = server.connect();
    create_file(data.path(), "a");
    let needed = destroy(&mut http, "a", &[]).unwrap_err();
    let (id, url) = (needed["consent_id"].as_str().unwrap(), needed["consent_url"].as_str().unwrap());
    let rejected = decide(&mut http, url, "approved", &[]);
    assert_eq!(rejected.status, 403);
    assert!(rejected.body.contains("mainstay consent approve"), "{}", rejected.body);
    let page = get(&mut http, url, &[("Accept", "text/html")]);
    assert!(page.body.contains("mainstay consent approve") && !page.body.contains("<form"), "{}", page.body);
    assert_eq!(run(data.path(), &["consent", "approve", id]).0, 0);
    assert!(destroy(&mut http, "a", &[]).is_ok());
}

#[test]
fn with_tokens_a_decision_needs_the_scope_and_another_principal() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |who: &str, scope: &str| format!("Bearer {}", issuer.token(&json!({"sub": who, "scope": scope})));
    let agent = bearer("agent", "read write delete");
    let mut http = server.connect();
    create_file(data.path(), "a");
    let url = destroy(&mut http, "a", &[("Authorization", &agent)]).unwrap_err()["consent_url"].clone();
    let url = url.as_str().unwrap();
    for (who, status) in [
        (bearer("agent", "read write delete"), 403),
        (bearer("agent", "admin"), 403),
        (bearer("stranger", "read write delete"), 404),
    ] {
        assert_eq!(decide(&mut http, url, "approved", &[("Authorization", &who)]).status, status);
    }
    assert_eq!(decide(&mut http, url, "approved", &[]).status, 401);
    assert_eq!(decide(&mut http, url, "approved", &[("Authorization", &bearer("boss", "consent"))]).status, 200);
    assert!(destroy(&mut http, "a", &[("Authorization", &agent)]).is_ok());
}

/// Asks for `probe_destroy` as a client of the newest protocol that can open pages.
fn ask_by_page(http: &mut Http, file: &str, more: &Value) -> Value {
    let mut params = json!({"name": "probe_destroy", "arguments": {"file": file},
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    http.request("tools/call", params, &[]).unwrap().message()
}

#[test]
fn the_page_decides_and_not_the_client_that_opened_it() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[engine]\ndeadline_seconds = 1\n");
    let mut http = server.connect();
    create_file(data.path(), "a");
    let answer = |asked: &Value| {
        let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        json!({"requestState": asked["result"]["requestState"], "inputResponses": {key: {"action": "accept"}}})
    };
    let asked = ask_by_page(&mut http, "a", &json!({}));
    let question = asked["result"]["inputRequests"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    let url = question["params"]["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&format!("http://{}", server.address)).unwrap_or_else(|| panic!("{url}"));
    let opened = ask_by_page(&mut http, "a", &answer(&asked));
    assert_eq!(opened["result"]["_meta"]["io.mainstay/error"]["kind"], "consent_required", "{opened}");
    assert!(opened["result"]["content"][0]["text"].as_str().unwrap().contains(&url), "{opened}");
    let asked = ask_by_page(&mut http, "a", &json!({}));
    assert_eq!(decide(&mut http, path, "approved", &[]).status, 200);
    let done = ask_by_page(&mut http, "a", &answer(&asked));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert!(!data.path().join("probe/a").exists());
}

#[test]
fn a_client_of_the_older_protocol_is_sent_to_the_page_and_its_call_continues() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    create_file(data.path(), "a");
    let mut greeting = initialize(1);
    greeting["params"]["capabilities"] = json!({"elicitation": {"url": {}}});
    let opened = http.post(&[], greeting.to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let in_session = [("Mcp-Session-Id", session.as_str())];
    http.post(&in_session, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();

    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "probe_destroy", "arguments": {"file": "a"}}});
    let call = call.to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{call}",
        server.address,
        call.len()
    )
    .unwrap();
    let mut messages = BufReader::new(stream).lines().filter_map(|line| {
        let line = line.unwrap();
        serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok().filter(Value::is_object)
    });
    let question = messages.next().unwrap();
    assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    http.post(&in_session, answer.to_string().as_bytes()).unwrap();
    let path = format!("/api/mcp/consent/{}", question["params"]["elicitationId"].as_str().unwrap());
    assert!(data.path().join("probe/a").exists());
    assert_eq!(decide(&mut http, &path, "approved", &[]).status, 200);
    let done = messages.next().unwrap();
    assert_eq!((&done["id"], &done["result"]["isError"]), (&json!(2), &json!(false)), "{done}");
    assert!(!data.path().join("probe/a").exists());
}

#[test]
fn a_rejected_decision_is_audited() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let host = http.host();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let reply = http.send("POST /api/mcp/consent/made-up", &headers, br#"{"decision":"approved"}"#).unwrap();
    assert_eq!(reply.status, 404, "{}", reply.body);
    server.terminate();
    server.wait();
    let (_, rows, _) = run(data.path(), &["audit", "show", "--limit", "100"]);
    let mut rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
    let tried = rows.any(|row| row["target"] == "consent/decide made-up" && row["outcome"] == "not_found");
    assert!(tried, "the audit does not know of it");
}
