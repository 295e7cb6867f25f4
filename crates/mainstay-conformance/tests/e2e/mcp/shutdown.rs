//! How the server stops, and how a disconnected client resumes its stream.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::testing::program::{Server, StdioServer, initialize, run};

#[test]
fn a_running_call_is_finished_before_the_server_stops() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.call("probe_sleep", &json!({"ms": 800})));
        std::thread::sleep(Duration::from_millis(300));
        server.terminate();
        assert_eq!(call.join().unwrap()["result"]["isError"], false);
    });
    assert_eq!(server.wait(), 0);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn a_stopping_server_rejects_new_calls_and_cancels_long_ones() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[engine]\ndrain_seconds = 1\n").unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    std::thread::scope(|scope| {
        let endless = scope.spawn(|| server.call("probe_sleep", &json!({"ms": 60000})));
        std::thread::sleep(Duration::from_millis(300));
        server.terminate();
        let cut_off = endless.join().unwrap();
        assert_eq!(cut_off["result"]["_meta"]["io.mainstay/error"]["kind"], "unavailable", "{cut_off}");
    });
    assert_eq!(server.wait(), 0);
    let (_, rows, _) = run(data.path(), &["audit", "show"]);
    assert!(rows.contains("\"target\":\"probe_sleep\"") && rows.contains("\"outcome\":\"unavailable\""), "{rows}");
}

#[test]
fn a_running_call_on_stdio_is_finished_before_the_program_stops() {
    let mut stdio = StdioServer::initialized();
    let call = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "probe_sleep", "arguments": {"ms": 700}}});
    stdio.write(call.to_string().as_bytes());
    std::thread::sleep(Duration::from_millis(300));
    stdio.terminate();
    let answer = stdio.read().unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(4), &json!(false)), "{answer}");
    assert_eq!(stdio.wait(), 0);
}

#[test]
fn an_unanswered_elicitation_ends_when_the_call_is_cancelled() {
    let mut stdio = StdioServer::initialized();
    let call = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "probe_destroy", "arguments": {"file": "x"}}});
    stdio.write(call.to_string().as_bytes());
    assert_eq!(stdio.read().unwrap()["method"], "elicitation/create");
    stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#);
    assert_eq!(stdio.ask(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}))["id"], 5);
    stdio.end_input();
    assert_eq!(stdio.read(), None, "a cancelled call is not answered");
    assert_eq!(stdio.wait(), 0);
}

/// Opens a stream, reads its first event, and leaves.
fn begin_and_leave(server: &Server, session: &str, ms: u64) -> String {
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "probe_sleep", "arguments": {"ms": ms}}}).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{call}",
        server.address,
        call.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines();
    let id = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("id:").map(|id| id.trim().to_owned()));
    id.unwrap()
}

#[test]
fn a_disconnected_client_can_resume_its_stream_during_and_after_the_call() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let opened = server.connect().post(&[], initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let stranger = server.connect().post(&[], initialize(1).to_string().as_bytes()).unwrap();
    let host = server.address.to_string();
    for (ms, pause) in [(700, 100), (200, 900)] {
        let last = begin_and_leave(&server, &session, ms);
        std::thread::sleep(Duration::from_millis(pause));
        let back = [
            ("Host", host.as_str()),
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", &session),
            ("Last-Event-ID", &last),
        ];
        let rest = server.connect().send("GET /mcp", &back, b"").unwrap();
        assert_eq!(rest.message()["id"], 5, "after {pause} ms");
        let mut others = back;
        others[2].1 = stranger.header("mcp-session-id").unwrap();
        let nothing = server.connect().send("GET /mcp", &others, b"").unwrap();
        assert!(!nothing.body.contains("\"id\":5"), "{}", nothing.body);
    }
}
