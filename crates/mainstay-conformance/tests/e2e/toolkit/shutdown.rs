//! How a connection ends: what runs is finished and answered, and nothing is accepted any more.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{ask, error, greeted, initialize, probe};
use crate::testing::program::{command, wait_until};

#[test]
fn what_runs_at_the_end_of_input_is_answered_as_it_finishes() {
    let mut server = greeted();
    server.write(probe(1, "probe_sleep", &json!({"ms": 900})).as_bytes());
    server.write(probe(2, "probe_sleep", &json!({"ms": 10})).as_bytes());
    server.end_input();
    let ids: Vec<Value> = std::iter::from_fn(|| server.read()).map(|answer| answer["id"].clone()).collect();
    assert_eq!((ids, server.wait()), (vec![json!(2), json!(1)], 0));
}

#[test]
fn what_runs_is_answered_before_a_signal_ends_the_program() {
    let mut server = greeted();
    server.write(probe(1, "probe_sleep", &json!({"ms": 1500})).as_bytes());
    // The call before it has been read when this is answered.
    assert_eq!(server.ask(&ask(&json!(2), "ping", &json!({})))["id"], 2);
    std::thread::sleep(std::time::Duration::from_millis(200));
    server.terminate();
    assert_eq!(server.read().unwrap()["result"], json!({"steps": 10}));
    assert_eq!((server.read(), server.wait()), (None, 0));
}

#[test]
fn after_a_shutdown_requests_are_refused_and_running_ones_answered() {
    let mut server = greeted();
    server.write(probe(1, "probe_sleep", &json!({"ms": 1500})).as_bytes());
    server.write(probe(2, "shutdown", &json!({})).as_bytes());
    server.write(probe(3, "probe_echo", &json!({"text": "x"})).as_bytes());
    server.write(probe(4, "shutdown", &json!({})).as_bytes());
    server.write(initialize().to_string().as_bytes());
    let mut answers: Vec<Value> = (0..5).map(|_| server.read().unwrap()).collect();
    assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!(2), &json!({})), "{answers:?}");
    let slept = answers.remove(4);
    assert_eq!((&slept["id"], &slept["result"]["steps"]), (&json!(1), &json!(10)), "{slept}");
    for refused in &answers[1..] {
        let (code, detail) = error(refused);
        assert_eq!(code, -32600, "{refused}");
        assert!(detail.contains("shutting down"), "{detail}");
    }
    server.write(br#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!((server.read(), server.wait()), (None, 0));
}

#[test]
fn after_a_shutdown_the_program_ends_although_its_input_does_not() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[engine]\ndrain_seconds = 1\n").unwrap();
    let args = ["stdio", "--dialect", "toolkit", "--config", file.to_str().unwrap()];
    let mut server = crate::testing::program::StdioServer::from(command(data.path(), &args), data);
    server.ask(&initialize());
    assert_eq!(server.ask(&ask(&json!(2), "shutdown", &json!({})))["result"], json!({}));
    assert_eq!((server.read(), server.wait()), (None, 0));
}

#[test]
fn the_program_ends_when_nobody_can_be_answered_any_more() {
    let data = tempfile::tempdir().unwrap();
    let mut program = command(data.path(), &["stdio", "--dialect", "toolkit"]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let mut line = |text: String| std::io::Write::write_all(&mut input, format!("{text}\n").as_bytes());
    line(initialize().to_string()).unwrap();
    // It would run for minutes, but its result has no reader.
    line(probe(1, "probe_sleep", &json!({"ms": 300_000}))).unwrap();
    let child = std::sync::Mutex::new(child);
    wait_until(|| child.lock().unwrap().try_wait().unwrap().is_some());
}
