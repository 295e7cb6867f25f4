//! A client that sends requests and never reads the responses: the program ends all the same.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::testing::program::{StdioServer, command, initialize, wait_until};

/// More than a pipe and every buffer on the way hold.
const ANSWERS: u64 = 700;

/// More refusals than the buffers hold, and what is not read of them fits into a pipe.
const REFUSALS: u64 = 560;

/// More than are under way at once, so that some stay in the pipe; few enough for the rest to fit there.
const TOO_MANY: u64 = 2300;

fn start(data: &Path, dialect: &str) -> Child {
    std::fs::write(data.join("c.toml"), "[engine]\ndrain_seconds = 1\n").unwrap();
    let file = data.join("c.toml");
    let mut program = command(data, &["stdio", "--dialect", dialect, "--config", file.to_str().unwrap()]);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Asks for so many answers of 1000 bytes.
fn flood(child: &mut Child, calls: u64, message: impl Fn(u64) -> Value) {
    let mut input = child.stdin.take().unwrap();
    for id in 1..=calls {
        writeln!(input, "{}", message(id)).unwrap();
    }
    child.stdin = Some(input);
}

fn mira(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "probe/big", "params": {"bytes": 1000}})
}

fn mcp(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
           "params": {"name": "probe_big", "arguments": {"bytes": 1000}}})
}

/// A call that is refused where it is read.
fn broken(_: u64) -> Value {
    json!({"jsonrpc": "1.0", "id": "x".repeat(200), "method": "m"})
}

fn initialized(data: &Path) -> Child {
    let mut child = start(data, "mcp");
    let input = child.stdin.as_mut().unwrap();
    writeln!(input, "{}", initialize(0)).unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
    child
}

fn ends(mut child: Child) {
    let ended = std::sync::Mutex::new(&mut child);
    wait_until(|| ended.lock().unwrap().try_wait().unwrap().is_some());
}

fn end_input(child: &mut Child) {
    child.stdin = None;
}

fn terminate(child: &mut Child) {
    // It has begun to answer, so it has also begun to listen to signals.
    let mut byte = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
}

/// The dialect, and how many of which message.
type Case = (&'static str, u64, fn(u64) -> Value);

/// Each in a directory of its own, and side by side: giving up takes its time.
fn all_end(cases: &[Case], end: fn(&mut Child)) {
    std::thread::scope(|scope| {
        for (dialect, calls, message) in cases {
            scope.spawn(move || {
                let data = tempfile::tempdir().unwrap();
                let mut child = if *dialect == "mcp" { initialized(data.path()) } else { start(data.path(), dialect) };
                flood(&mut child, *calls, message);
                end(&mut child);
                ends(child);
            });
        }
    });
}

#[test]
fn the_program_ends_with_its_input_although_its_output_is_not_read() {
    let cases: [Case; 5] = [
        ("mira", ANSWERS, mira),
        ("mira", TOO_MANY, mira),
        ("mira", REFUSALS, broken),
        ("mcp", ANSWERS, mcp),
        ("mcp", REFUSALS, broken),
    ];
    all_end(&cases, end_input);
}

#[test]
fn answers_that_nobody_reads_take_bounded_memory_and_every_call_is_answered() {
    const CALLS: u64 = 300;
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[server]\nunsent_bytes = 50000000\n").unwrap();
    let program = command(data.path(), &["stdio", "--config", file.to_str().unwrap()]);
    let mut server = StdioServer::from(program, data);
    server.ask(&initialize(0));
    server.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let before = server.peak_memory();
    for id in 1..=CALLS {
        let arguments = json!({"name": "probe_big", "arguments": {"bytes": 4_000_000}});
        server.write(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": arguments}).to_string().as_bytes(),
        );
    }
    // Until all that runs without a reader has run.
    let mut peak = 0;
    while server.peak_memory() > peak {
        peak = server.peak_memory();
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..CALLS {
        let answer = server.read().unwrap();
        let lost = answer["error"]["message"].as_str();
        assert!(lost.is_none_or(|why| why.contains("server.unsent_bytes")), "{answer}");
        ids.push(answer["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=CALLS).collect::<Vec<_>>());
    // All of them together are 1200 MB.
    let growth = server.peak_memory() - before;
    assert!(growth < 800_000_000, "{growth} bytes");
}

#[test]
fn the_program_stops_on_a_signal_although_its_output_is_not_read() {
    let cases: [Case; 2] = [("mira", ANSWERS, mira), ("mcp", ANSWERS, mcp)];
    all_end(&cases, terminate);
}
