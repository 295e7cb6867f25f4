//! kill -9 during writes: what was acknowledged exists, and no call ran twice.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::testing::program::{Http, Server, run, wait_until};

const CLIENTS: usize = 4;

fn rounds() -> u64 {
    std::env::var("MAINSTAY_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100)
}

fn append(http: &mut Http, key: &str) -> std::io::Result<Value> {
    let call = json!({"name": "probe_append", "arguments": {"file": "effects", "line": key}});
    let reply = http.request("tools/call", call, &[("Idempotency-Key", key)])?;
    serde_json::from_str(&reply.body).map_err(std::io::Error::other)
}

/// Writes until the server dies; keys sent, and the audit's id of those that were acknowledged.
fn load(
    mut http: Http,
    next: &AtomicU64,
    sent: &Mutex<Vec<String>>,
    acknowledged: &Mutex<HashMap<String, String>>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let key = format!("key-{}", next.fetch_add(1, Ordering::Relaxed));
        sent.lock().unwrap().push(key.clone());
        let Ok(answer) = append(&mut http, &key) else { return };
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let id = answer["result"]["_meta"]["io.mainstay/requestId"].as_str().unwrap().to_owned();
        acknowledged.lock().unwrap().insert(key, id);
    }
}

#[test]
fn after_kill_9_every_acknowledged_row_exists_and_no_call_ran_twice() {
    let data = tempfile::tempdir().unwrap();
    let next = AtomicU64::new(0);
    let (mut all_sent, mut all_acknowledged) = (Vec::new(), HashMap::new());
    let mut server = Some(Server::start(data.path(), &[]));
    for round in 0..rounds() {
        let (sent, acknowledged, stop) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let running = server.take().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                // Connected before anything is killed, however late its thread begins.
                let http = running.connect();
                scope.spawn(|| load(http, &next, &sent, &acknowledged, &stop));
            }
            // Each round dies at another moment of its life, and not before it has something to lose.
            wait_until(|| acknowledged.lock().unwrap().len() as u64 > round % 5);
            std::thread::sleep(Duration::from_millis(round * 7 % 23));
            running.kill();
            stop.store(true, Ordering::Relaxed);
        });
        drop(running);
        let sent: Vec<String> = sent.into_inner().unwrap();
        let acknowledged: HashMap<String, String> = acknowledged.into_inner().unwrap();
        check_audit(data.path(), &acknowledged, round);
        server = Some(Server::start(data.path(), &[]));
        retry(server.as_ref().unwrap(), &sent, &acknowledged);
        all_sent.extend(sent);
        all_acknowledged.extend(acknowledged);
    }
    let text = std::fs::read_to_string(data.path().join("probe/effects")).unwrap();
    let mut seen = HashSet::new();
    for line in text.lines() {
        assert!(seen.insert(line), "{line} happened twice");
    }
    for key in all_acknowledged.keys() {
        assert!(seen.contains(key.as_str()), "{key} was acknowledged and did not happen");
    }
    assert!(
        all_acknowledged.len() as u64 > rounds(),
        "only {} writes were acknowledged: the test tested nothing",
        all_acknowledged.len()
    );
}

/// The chain is whole, and each acknowledged call has the row that says it ended well.
fn check_audit(data: &std::path::Path, acknowledged: &HashMap<String, String>, round: u64) {
    let (code, verdict, error) = run(data, &["audit", "verify"]);
    assert_eq!(code, 0, "round {round}: {verdict}{error}");
    let (_, rows, _) = run(data, &["audit", "show", "--limit", "100000"]);
    let ended: HashSet<String> = rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|row| row["phase"] == "ended" && row["outcome"] == "ok")
        .map(|row| row["request_id"].as_str().unwrap().to_owned())
        .collect();
    for (key, id) in acknowledged {
        assert!(ended.contains(id), "round {round}: {key} was acknowledged and has no row");
    }
}

/// A client that comes back asks again under the same key: it gets the one result, or hears that it is not known.
fn retry(server: &Server, sent: &[String], acknowledged: &HashMap<String, String>) {
    let mut http = server.connect();
    for key in sent {
        let answer = append(&mut http, key).unwrap();
        let done = answer["result"]["isError"] == false;
        let unknown = answer["result"]["_meta"]["io.mainstay/error"]["kind"] == "conflict";
        assert!(done || (unknown && !acknowledged.contains_key(key)), "{key}: {answer}");
    }
}
