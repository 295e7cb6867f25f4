//! Bypasses and exhaustion: proxies, cross-site requests, expired tokens, unbounded sessions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use mainstay_server::{Access, routes};
use serde_json::{Value, json};

use crate::access::routes::{AuthMode, MCP, expected_status, request_route};
use crate::consent::approval::{decide, get, with_config};
use crate::testing::program::{Http, Server, initialize, run, workspace};

fn local_auth(data: &Path, more: &str) -> Server {
    let auth = "[server.auth]\nmode = \"local\"\naudience = \"https://mainstay.example/mcp\"\n";
    with_config(data, &format!("{more}\n{auth}"))
}

/// A new client of the server's own: its id, and the header with its token.
fn client(data: &Path, server: &Server, scope: &str) -> (String, String) {
    let (code, out, error) = run(data, &["client", "add", "An app", "--scope", scope, "--json"]);
    assert_eq!(code, 0, "{error}");
    let mut made: Value = serde_json::from_str(&out).unwrap();
    let id = made["client_id"].as_str().unwrap().to_owned();
    made["grant_type"] = json!("client_credentials");
    let given = server.connect().rpc("/oauth/token", &[], &made).message();
    (id, format!("Bearer {}", given["access_token"].as_str().unwrap()))
}

fn open(http: &mut Http, bearer: &str) -> String {
    let opened = http.post(&[("Authorization", bearer)], initialize(1).to_string().as_bytes()).unwrap();
    assert_eq!(opened.status, 200, "{}", opened.body);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let headers = [("Authorization", bearer), ("Mcp-Session-Id", session.as_str())];
    assert_eq!(http.post(&headers, initialized).unwrap().status, 202);
    session
}

fn ping(http: &mut Http, bearer: &str, session: &str) -> u16 {
    let headers = [("Authorization", bearer), ("Mcp-Session-Id", session)];
    http.post(&headers, br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).unwrap().status
}

#[test]
fn a_client_behind_a_proxy_is_not_local() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let own = server.address.to_string();
    let (_, bearer) = client(data.path(), &server, "read");
    for (name, value) in [
        ("Forwarded", "for=10.1.2.3"),
        ("X-Forwarded-For", "10.1.2.3"),
        ("X-Real-IP", "10.1.2.3"),
        ("Via", "1.1 proxy"),
    ] {
        for route in routes() {
            let path = route.path;
            let reply = request_route(&server, path, &[("Host", &own), (name, value)]);
            match route.access {
                Access::Token => {
                    assert_eq!(reply.status, 403, "{path} {name}");
                    assert!(reply.body.contains("server.auth"), "{path} {name}: {}", reply.body);
                }
                Access::Public => assert_eq!(reply.status, expected_status(path, AuthMode::None), "{path} {name}"),
            }
        }
        let known = request_route(&server, MCP, &[("Host", &own), (name, value), ("Authorization", &bearer)]);
        assert_eq!(known.status, 200, "{name}");
    }
    let guarded = tempfile::tempdir().unwrap();
    let server = local_auth(guarded.path(), "");
    let (_, bearer) = client(guarded.path(), &server, "read");
    let host = server.address.to_string();
    let through = [("Host", host.as_str()), ("X-Forwarded-For", "10.1.2.3"), ("Authorization", &bearer)];
    assert_eq!(request_route(&server, MCP, &through).status, 200);
}

#[test]
fn cross_site_embeds_are_rejected_on_every_route() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let own = server.address.to_string();
    for route in routes() {
        let path = route.path;
        for (site, mode, let_in) in [
            ("cross-site", "no-cors", false),
            ("same-site", "no-cors", false),
            ("same-origin", "cors", true),
            ("cross-site", "navigate", true),
            ("none", "navigate", true),
        ] {
            let headers = [("Host", own.as_str()), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode)];
            let expected = if let_in { expected_status(path, AuthMode::None) } else { 403 };
            assert_eq!(request_route(&server, path, &headers).status, expected, "{path} {site} {mode}");
        }
    }
}

#[test]
fn the_metrics_need_the_read_scope() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path(), "");
    let host = server.address.to_string();
    for (scope, status) in [("read", 200), ("admin", 200), ("write", 403), ("consent", 403)] {
        let (_, out, _) = run(data.path(), &["client", "add", "An app", "--scope", scope, "--json"]);
        let mut asks: Value = serde_json::from_str(&out).unwrap();
        (asks["grant_type"], asks["scope"]) = (json!("client_credentials"), json!(scope));
        let given = server.connect().rpc("/oauth/token", &[], &asks).message();
        let bearer = format!("Bearer {}", given["access_token"].as_str().unwrap());
        let reply = request_route(&server, "/metrics", &[("Host", &host), ("Authorization", &bearer)]);
        assert_eq!(reply.status, status, "{scope}: {}", reply.body);
        if status == 403 {
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"read\""), "{challenge}");
            assert!(!reply.body.contains("mainstay_"), "{}", reply.body);
        }
    }
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path(), "");
    let (id, bearer) = client(data.path(), &server, "read");
    let session = open(&mut server.connect(), &bearer);
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nAuthorization: {bearer}\r\n\
         Mcp-Session-Id: {session}\r\n\r\n",
        server.address
    );
    (&stream).write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains(" 200 "));
    assert_eq!(run(data.path(), &["client", "disable", &id]).0, 0);
    // The last chunk has no bytes; what comes before it keeps the connection open.
    assert!(lines.take(40).any(|line| line == "0"), "it goes on");
}

#[test]
fn a_principal_can_evict_only_its_own_sessions() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path(), "[server]\nsessions = 20\n");
    let ((_, alice), (_, bob)) = (client(data.path(), &server, "read"), client(data.path(), &server, "read"));
    let mut http = server.connect();
    let bobs = open(&mut http, &bob);
    let sessions: Vec<String> = (0..6).map(|_| open(&mut http, &alice)).collect();
    let held = get(&mut http, "/metrics", &[("Authorization", &bob)]).body;
    assert!(held.contains("\nmainstay_sessions 3\n"), "{held}");
    assert_eq!(ping(&mut http, &bob, &bobs), 200);
    for session in &sessions {
        assert_eq!(ping(&mut http, &alice, session), 200, "what left memory comes back when it is asked for");
    }
}

#[test]
fn the_state_of_a_session_is_bounded() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let mut greeting = initialize(1);
    greeting["params"]["clientInfo"]["name"] = json!("x".repeat(64 * 1024));
    let rejected = http.post(&[], greeting.to_string().as_bytes()).unwrap();
    assert_eq!(rejected.message()["error"]["code"], -32602, "{}", rejected.body);
    let opened = http.post(&[], initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let held = get(&mut http, "/metrics", &[]).body;
    assert!(held.contains("\nmainstay_sessions 1\n"), "{held}");
    for (long, code) in [(16 * 1024 + 1, json!(-32602)), (20, Value::Null)] {
        let uri = format!("file:///{}", "a".repeat(long - "file:///".len()));
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": uri}});
        let answer = http.post(&[("Mcp-Session-Id", &session)], message.to_string().as_bytes()).unwrap().message();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
}

#[test]
fn initialize_and_subscribe_count_against_the_rate_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[engine.rate.per_client]\ncalls = 3\nseconds = 3600\n");
    let mut http = server.connect();
    let opened = http.post(&[], initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let subscribe = br#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    for _ in 0..2 {
        let answer = http.post(&[("Mcp-Session-Id", &session)], subscribe).unwrap().message();
        assert!(answer["result"].is_object(), "{answer}");
    }
    let answer = http.post(&[("Mcp-Session-Id", &session)], subscribe).unwrap().message();
    assert!(answer["error"]["message"].as_str().unwrap().contains("limit of 3 calls"), "{answer}");
    let answer = http.post(&[], initialize(1).to_string().as_bytes()).unwrap().message();
    assert!(answer["error"]["message"].as_str().unwrap().contains("limit of 3 calls"), "{answer}");
}

#[test]
fn a_caller_with_a_token_cannot_approve_without_one() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (_, bearer) = client(data.path(), &server, "read delete");
    let mut http = server.connect();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/destroy", "params": {"file": "a"}});
    let asked = http.rpc("/rpc", &[("Authorization", &bearer)], &message).message();
    let needed = &asked["error"]["data"];
    let (id, url) = (needed["consent_id"].as_str().unwrap(), needed["consent_url"].as_str().unwrap());
    let rejected = decide(&mut http, url, "approved", &[]);
    assert_eq!(rejected.status, 403, "{}", rejected.body);
    assert!(rejected.body.contains("mainstay consent approve"), "{}", rejected.body);
    let page = get(&mut http, url, &[("Accept", "text/html")]);
    assert!(page.body.contains("<form"), "a person may on the page: {}", page.body);
    assert_eq!(run(data.path(), &["consent", "approve", id]).0, 0);
}

#[test]
fn a_store_inside_the_workspace_is_not_opened() {
    let data = tempfile::tempdir().unwrap();
    let inside = format!("sqlite:{}/intruders.db", workspace());
    let link = data.path().join("elsewhere");
    std::os::unix::fs::symlink(workspace(), &link).unwrap();
    for store in [inside, format!("sqlite:{}/intruders.db", link.display()), "sqlite:/usr/intruders.db".to_owned()] {
        let (code, _, error) = run(data.path(), &["tools", "--store", &store]);
        assert!(code != 0 && error.contains("--store") && error.contains("data directory"), "{store}: {error}");
    }
    assert!(!Path::new(workspace()).join("intruders.db").exists());
    let apart = tempfile::tempdir().unwrap();
    let (code, _, error) =
        run(data.path(), &["tools", "--store", &format!("sqlite:{}", apart.path().join("own.db").display())]);
    assert_eq!(code, 0, "{error}");
}

#[test]
fn a_compromised_signing_key_is_revoked_from_the_command_line() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path(), "");
    let host = server.address.to_string();
    let (_, bearer) = client(data.path(), &server, "read");
    let listed = || request_route(&server, MCP, &[("Host", &host), ("Authorization", &bearer)]).status;
    assert_eq!(listed(), 200);
    let (code, out, error) = run(data.path(), &["client", "rotate-key", "--now"]);
    assert!(code == 0 && out.contains("within seconds"), "{out}{error}");
    crate::testing::program::wait_until(|| listed() == 401);
    let (_, bearer) = client(data.path(), &server, "read");
    assert_eq!(request_route(&server, MCP, &[("Host", &host), ("Authorization", &bearer)]).status, 200);
}
