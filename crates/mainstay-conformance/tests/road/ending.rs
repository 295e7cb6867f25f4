//! How it stops, and how a client that lost its connection goes on.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::program::{Server, initialize};

#[test]
fn a_call_under_way_is_finished_before_the_server_stops() {
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
fn a_stopping_server_takes_no_new_calls_and_cuts_off_what_does_not_end() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[engine]\ndrain_seconds = 1\n").unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            server.connect().request("tools/call", json!({"name": "probe_sleep", "arguments": {"ms": 60000}}), &[])
        });
        std::thread::sleep(Duration::from_millis(300));
        server.terminate();
        assert_eq!(server.wait(), 0);
    });
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
    id.expect("the stream's first event has an id")
}

#[test]
fn a_reader_that_left_finds_the_rest_of_its_stream_while_the_call_runs_and_after() {
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
