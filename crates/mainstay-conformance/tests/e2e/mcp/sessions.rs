//! Sessions of 2025-11-25 and older: resumable after a restart, never mixed up.

use serde_json::{Value, json};

use crate::testing::program::{Http, Server, initialize};

fn open(http: &mut Http) -> String {
    let opened = http.post(&[], initialize(1).to_string().as_bytes()).unwrap();
    assert_eq!(opened.status, 200, "{}", opened.body);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let initialized = http
        .post(&[("Mcp-Session-Id", &session)], br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .unwrap();
    assert_eq!(initialized.status, 202);
    session
}

fn echo(http: &mut Http, session: &str, id: u64, text: &str) -> Value {
    // Every other call is one the SDK serves, for the sake of its progress token.
    let meta = if id.is_multiple_of(2) { json!({}) } else { json!({"progressToken": id}) };
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"_meta": meta, "name": "probe_echo", "arguments": {"text": text}}});
    http.post(&[("Mcp-Session-Id", session)], call.to_string().as_bytes()).unwrap().message()
}

#[test]
fn responses_never_mix_between_two_clients_with_the_same_ids() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    std::thread::scope(|scope| {
        for client in 0..2 {
            let server = &server;
            scope.spawn(move || {
                let mut http = server.connect();
                let session = open(&mut http);
                for id in 0..5000 {
                    let text = format!("{client}-{id}");
                    let answer = echo(&mut http, &session, id, &text);
                    assert_eq!(
                        (&answer["id"], &answer["result"]["structuredContent"]["text"]),
                        (&json!(id), &json!(text))
                    );
                }
            });
        }
    });
}

#[test]
fn a_session_continues_after_the_server_was_killed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let session = open(&mut server.connect());
    server.kill();
    let server = Server::start(data.path(), &[]);
    let answer = echo(&mut server.connect(), &session, 7, "again");
    assert_eq!(answer["result"]["structuredContent"]["text"], "again");
}

#[test]
fn an_unknown_session_is_not_found_and_a_missing_one_is_an_error() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    open(&mut http);
    let ping = br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(http.post(&[("Mcp-Session-Id", "0".repeat(64).as_str())], ping).unwrap().status, 404);
    let reply = http.post(&[], ping).unwrap();
    assert!(
        (400..500).contains(&reply.status) && !reply.body.contains("\"result\""),
        "{} {}",
        reply.status,
        reply.body
    );
}

#[test]
fn past_the_session_limit_the_least_recently_used_is_unloaded_and_can_be_resumed() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[server]\nsessions = 3\n").unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    let mut http = server.connect();
    let sessions: Vec<String> = (0..10).map(|_| open(&mut http)).collect();
    let host = server.address.to_string();
    let metrics = http.send("GET /metrics", &[("Host", &host)], b"").unwrap().body;
    assert!(metrics.contains("\nmainstay_sessions 3\n"), "{metrics}");
    for session in &sessions {
        assert_eq!(echo(&mut http, session, 3, "x")["result"]["structuredContent"]["text"], "x");
    }
}
