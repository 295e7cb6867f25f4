//! Several servers on one PostgreSQL answer alike.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::testing::postgres::postgres;
use crate::testing::program::{Http, Server, initialize, run, wait_until};

fn replica(data: &Path, url: &str) -> Server {
    Server::start(data, &["--store", url])
}

fn append(http: &mut Http, key: &str) -> std::io::Result<Value> {
    let call = json!({"name": "probe_append", "arguments": {"file": "effects", "line": key}});
    let reply = http.request("tools/call", call, &[("Idempotency-Key", key)])?;
    serde_json::from_str(&reply.body).map_err(std::io::Error::other)
}

#[test]
fn two_replicas_accept_each_others_tokens() {
    let Some(url) = postgres() else { return };
    let data = tempfile::tempdir().unwrap();
    std::fs::write(
        data.path().join("c.toml"),
        "[server.auth]\nmode = \"local\"\naudience = \"https://m.example/mcp\"\n",
    )
    .unwrap();
    let config = data.path().join("c.toml");
    let start = || Server::start(data.path(), &["--store", &url, "--config", config.to_str().unwrap()]);
    let (one, two) = (start(), start());
    let (code, made, error) = run(data.path(), &["client", "add", "app", "--scope", "read", "--json", "--store", &url]);
    assert_eq!(code, 0, "{error}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let host = one.address.to_string();
    let mut asked = made.clone();
    asked["grant_type"] = json!("client_credentials");
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let given = one.connect().send("POST /oauth/token", &headers, asked.to_string().as_bytes()).unwrap().message();
    let bearer = format!("Bearer {}", given["access_token"].as_str().unwrap());
    let listed = |server: &Server| {
        server.connect().request("tools/list", json!({}), &[("Authorization", &bearer)]).unwrap().status
    };
    assert_eq!((listed(&one), listed(&two)), (200, 200));
    let id = made["client_id"].as_str().unwrap();
    assert_eq!(run(data.path(), &["client", "disable", id, "--store", &url]).0, 0);
    wait_until(|| listed(&one) == 401 && listed(&two) == 401);
}

/// Two replicas write at once and one of them is killed again and again, while the other goes on.
#[test]
fn two_replicas_share_sessions_keys_and_one_audit_chain() {
    let Some(url) = postgres() else { return };
    let data = tempfile::tempdir().unwrap();
    let steady = replica(data.path(), &url);
    let mut other = replica(data.path(), &url);

    let opened = other.connect().post(&[], initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "probe_echo", "arguments": {"text": "there"}}});
    let answer = steady.connect().post(&[("Mcp-Session-Id", &session)], call.to_string().as_bytes()).unwrap().message();
    assert_eq!(answer["result"]["structuredContent"]["text"], "there");

    // Names are this run's own: the database may have seen others.
    let run_name = data.path().file_name().unwrap().to_str().unwrap().to_owned();
    let (next, mut keys) = (AtomicU64::new(0), Vec::new());
    for round in 0..10 {
        let stop = AtomicBool::new(false);
        let load = |server: &Server| {
            let mut http = server.connect();
            let mut sent = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let key = format!("{run_name}-{}", next.fetch_add(1, Ordering::Relaxed));
                sent.push(key.clone());
                match append(&mut http, &key) {
                    Ok(answer) => assert_eq!(answer["result"]["isError"], false, "{answer}"),
                    Err(_) => break,
                }
            }
            sent
        };
        let sent = std::thread::scope(|scope| {
            let (one, two) = (scope.spawn(|| load(&steady)), scope.spawn(|| load(&other)));
            let before = next.load(Ordering::Relaxed);
            wait_until(|| next.load(Ordering::Relaxed) > before + 8);
            std::thread::sleep(Duration::from_millis(round * 7 % 23));
            other.kill();
            stop.store(true, Ordering::Relaxed);
            [one.join().unwrap(), two.join().unwrap()].concat()
        });
        let mut http = steady.connect();
        for key in &sent {
            let answer = append(&mut http, key).unwrap();
            let known = answer["result"]["isError"] == false
                || answer["result"]["_meta"]["io.mainstay/error"]["kind"] == "conflict";
            assert!(known, "{key}: {answer}");
        }
        keys.extend(sent);
        other = replica(data.path(), &url);
    }
    drop((steady, other));
    let (code, verdict, error) = run(data.path(), &["audit", "verify", "--store", &url]);
    assert_eq!(code, 0, "{verdict}{error}");
    let text = std::fs::read_to_string(data.path().join("probe/effects")).unwrap();
    let mut seen = HashSet::new();
    assert!(text.lines().all(|line| seen.insert(line)), "a call happened twice");
    assert!(keys.len() > 50, "only {} calls were made: the test tested nothing", keys.len());
}
