//! The dialect `mira` over HTTP and over stdio.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::bad_input;
use crate::testing::program::{Http, Server, StdioServer, command, wait_until};

fn ask(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn rpc(http: &mut Http, method: &str, params: &Value) -> Value {
    let reply = http.rpc("/rpc", &[], &ask(1, method, params));
    assert_eq!(reply.status, 200, "{method}");
    reply.message()
}

fn with_config(data: &Path, text: &str) -> Server {
    let file = data.join("c.toml");
    std::fs::write(&file, text).unwrap();
    Server::start(data, &["--config", file.to_str().unwrap()])
}

fn error(message: &Value) -> (i64, Value) {
    (message["error"]["code"].as_i64().unwrap_or_else(|| panic!("{message}")), message["id"].clone())
}

/// Sound frames that ask for what cannot be done.
fn requests() -> Vec<(&'static str, &'static str, Value, i64)> {
    vec![
        ("unknown method", "no/such", json!({}), -32601),
        ("the standard's own method", "tools/call", json!({"name": "probe_echo"}), -32601),
        ("the standard's own greeting", "initialize", json!({}), -32601),
        ("params in an array", "probe/echo", json!(["a"]), -32602),
        ("wrong type", "probe/echo", json!({"text": 7}), -32602),
        ("missing", "probe/echo", json!({}), -32602),
        ("surplus", "probe/echo", json!({"text": "a", "more": 1}), -32602),
        ("a value out of range", "probe/sleep", json!({"ms": 3_600_001}), 1003),
        ("a cursor of somebody else", "tools/list", json!({"cursor": "nonsense"}), 1003),
    ]
}

#[test]
fn over_http_every_invalid_request_is_answered_with_status_200_and_the_next_is_served() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let host = server.address.to_string();
    for (what, bytes, code, id) in bad_input::table() {
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let reply = server.connect().send("POST /rpc", &headers, &bytes).unwrap();
        let status = if what == "10 MB" { 413 } else { 200 };
        assert_eq!((reply.status, error(&reply.message())), (status, (code, id)), "{what}");
        let next = rpc(&mut server.connect(), "probe/echo", &json!({"text": "on"}));
        assert_eq!(next["result"], json!({"text": "on"}), "after {what}");
    }
    for (what, method, params, code) in requests() {
        assert_eq!(error(&rpc(&mut server.connect(), method, &params)), (code, json!(1)), "{what}");
    }
}

#[test]
fn over_stdio_every_invalid_request_is_answered_and_the_next_is_served() {
    let mut stdio = StdioServer::speaking("mira");
    for (what, bytes, code, id) in bad_input::table() {
        stdio.write(&bytes);
        assert_eq!(error(&stdio.read().unwrap()), (code, id), "{what}");
        let next = stdio.ask(&ask(7, "probe/echo", &json!({"text": "on"})));
        assert_eq!(next, json!({"jsonrpc": "2.0", "id": 7, "result": {"text": "on"}}), "after {what}");
    }
    for (what, method, params, code) in requests() {
        assert_eq!(error(&stdio.ask(&ask(1, method, &params))), (code, json!(1)), "{what}");
    }
    stdio.write_part(br#"{"jsonrpc":"2.0","id":3,"method":"#);
    stdio.end_input();
    assert_eq!(error(&stdio.read().unwrap()), (-32700, Value::Null));
    assert_eq!((stdio.read(), stdio.wait()), (None, 0));
}

#[test]
fn only_a_post_of_json_is_a_message() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let host = server.address.to_string();
    let message = ask(1, "probe/echo", &json!({"text": "x"})).to_string();
    for (line, kind, status) in [
        ("GET /rpc", None, 405),
        ("DELETE /rpc", None, 405),
        ("PUT /rpc", Some("application/json"), 405),
        ("POST /rpc", Some("text/plain"), 415),
        ("POST /rpc", Some("application/x-www-form-urlencoded"), 415),
        ("POST /rpc", Some("application/json; charset=utf-8"), 200),
        ("POST /rpc", None, 200),
    ] {
        let mut headers = vec![("Host", host.as_str())];
        headers.extend(kind.map(|kind| ("Content-Type", kind)));
        let reply = server.connect().send(line, &headers, message.as_bytes()).unwrap();
        assert_eq!(reply.status, status, "{line} {kind:?}");
        assert_eq!(reply.header("allow"), (status == 405).then_some("POST"), "{line}");
    }
}

#[test]
fn a_notification_is_not_answered_and_a_call_sent_as_one_is_executed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let append = json!({"jsonrpc": "2.0", "method": "probe/append", "params": {"file": "a", "line": "x"}});
    for message in [
        append.clone(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "no/such"}),
    ] {
        let reply = http.rpc("/rpc", &[], &message);
        assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{message}");
    }
    assert_eq!(std::fs::read_to_string(data.path().join("probe/a")).unwrap(), "x\n");
    let mut stdio = StdioServer::speaking("mira");
    stdio.write(append.to_string().as_bytes());
    assert_eq!(stdio.ask(&ask(2, "probe/echo", &json!({"text": "x"})))["id"], 2);
    let line = json!({"jsonrpc": "2.0", "method": "probe/sleep", "params": {"ms": 200}});
    stdio.write(line.to_string().as_bytes());
    stdio.end_input();
    assert_eq!((stdio.read(), stdio.wait()), (None, 0));
}

#[test]
fn output_is_streamed_when_requested_and_accepted() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let send = |stream: bool| ask(5, "probe/say", &json!({"pieces": ["one\n", "two", "ü"], "stream": stream}));
    let accept = [("Accept", "application/json, text/event-stream")];
    let streamed = http.rpc("/rpc", &accept, &send(true));
    assert_eq!((streamed.status, streamed.header("content-type")), (200, Some("text/event-stream; charset=utf-8")));
    let chunk = |stream: &str, seq: u64, text: &str| {
        json!({"jsonrpc": "2.0", "method": "exec/stream",
               "params": {"id": 5, "stream": stream, "seq": seq, "chunk": text}})
    };
    let result = json!({"jsonrpc": "2.0", "id": 5, "result": {"pieces": 3, "stream": true}});
    let expected = [chunk("stdout", 0, "one\n"), chunk("stderr", 1, "two"), chunk("stdout", 2, "ü"), result];
    assert_eq!(streamed.events(), expected);
    for (what, headers, stream) in [("not asked for", &accept[..], false), ("cannot be taken", &[], true)] {
        let plain = http.rpc("/rpc", headers, &send(stream));
        assert_eq!(plain.header("content-type"), Some("application/json"), "{what}");
        assert_eq!(plain.message()["result"]["pieces"], 3, "{what}");
    }
    let mut stdio = StdioServer::speaking("mira");
    stdio.write(send(true).to_string().as_bytes());
    for message in expected {
        assert_eq!(stdio.read().unwrap(), message);
    }
    assert_eq!(stdio.ask(&send(false))["result"]["pieces"], 3, "chunks come only when they are asked for");
}

#[test]
fn closing_the_stream_cancels_the_call() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let call = ask(1, "probe/say", &json!({"pieces": ["first", "last"], "pause_ms": 100, "stream": true}));
    let endless = json!({"pieces": vec!["x"; 1000], "pause_ms": 100, "stream": true});
    let running = || {
        let host = server.address.to_string();
        let metrics = server.connect().send("GET /metrics", &[("Host", &host)], b"").unwrap().body;
        let line = metrics.lines().find(|line| line.starts_with("mainstay_calls_in_flight ")).unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let shell =
        json!({"command": "sh", "args": ["-c", "echo begun; exec sleep 300"], "timeout_ms": 600_000, "stream": true});
    for message in [call, ask(2, "probe/say", &endless), ask(3, "exec/run", &shell)] {
        let message = message.to_string();
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let head = format!(
            "POST /rpc HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nContent-Length: {}\r\n\r\n{message}",
            server.address,
            message.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("data:")));
        assert_eq!(running(), "1");
        drop(lines);
        wait_until(|| running() == "0");
    }
}

#[test]
fn a_slow_reader_receives_the_whole_stream_and_the_result_says_what_it_leaves_out() {
    let numbers = |last: u32| (1..=last).map(|number| number.to_string() + "\n").collect::<Vec<_>>().concat();
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let whole = rpc(&mut server.connect(), "exec/run", &json!({"command": "seq", "args": ["1000000"]}));
    assert!(whole["result"]["stdout"] == numbers(1_000_000).as_str(), "less than 8 MiB are not cut");
    let call = ask(1, "exec/run", &json!({"command": "seq", "args": ["2500000"], "stream": true})).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = "POST /rpc HTTP/1.1\r\nConnection: close\r\nAccept: text/event-stream";
    let (host, length) = (server.address, call.len());
    write!(stream, "{head}\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{call}").unwrap();
    // By now more is written than the connection can hold.
    std::thread::sleep(Duration::from_secs(1));
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut messages: Vec<Value> =
        lines.filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data:")?).unwrap())).collect();
    let result = messages.pop().unwrap()["result"].take();
    let chunks = messages.iter().map(|message| message["params"]["chunk"].as_str().unwrap()).collect::<String>();
    let sent = numbers(2_500_000);
    assert!(chunks == sent, "{} of {} bytes", chunks.len(), sent.len());
    assert_eq!(result["exit_code"], 0);
    let (stdout, total) = (result["stdout"].as_str().unwrap(), sent.len());
    let end = format!("2500000\n[output truncated: {} of {total} bytes left out]\n", total - (8 << 20));
    assert!(stdout.starts_with("1\n2\n") && stdout.ends_with(&end), "{}", &stdout[stdout.len() - 200..]);
}

#[test]
fn calls_on_stdio_run_concurrently_and_are_answered_after_the_end_of_input() {
    let mut stdio = StdioServer::speaking("mira");
    for (id, ms) in [(1, 900), (2, 10)] {
        stdio.write(ask(id, "probe/sleep", &json!({"ms": ms})).to_string().as_bytes());
    }
    stdio.end_input();
    let ids: Vec<Value> = std::iter::from_fn(|| stdio.read()).map(|message| message["id"].clone()).collect();
    assert_eq!((ids, stdio.wait()), (vec![json!(2), json!(1)], 0));
}

#[test]
fn a_slow_reader_on_stdio_receives_every_response() {
    const CALLS: u64 = 5000;
    let data = tempfile::tempdir().unwrap();
    let mut program = command(data.path(), &["stdio", "--dialect", "mira"]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let writing = std::thread::spawn(move || {
        for id in 0..CALLS {
            writeln!(input, "{}", ask(id, "probe/big", &json!({"bytes": 1000}))).unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(500));
    let answers = output.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut ids: Vec<u64> =
        answers.filter(|answer| answer.get("result").is_some()).map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..CALLS).collect::<Vec<_>>());
    writing.join().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_running_call_on_stdio_is_answered_before_the_program_stops() {
    let mut stdio = StdioServer::speaking("mira");
    assert_eq!(stdio.ask(&ask(1, "probe/echo", &json!({"text": "x"})))["id"], 1);
    stdio.write(
        ask(2, "probe/say", &json!({"pieces": ["a", "b"], "pause_ms": 400, "stream": true})).to_string().as_bytes(),
    );
    assert_eq!(stdio.read().unwrap()["params"]["chunk"], "a");
    stdio.terminate();
    assert_eq!(stdio.read().unwrap()["params"]["chunk"], "b");
    assert_eq!(stdio.read().unwrap()["result"]["pieces"], 2);
    assert_eq!((stdio.read(), stdio.wait()), (None, 0));
}

#[test]
fn the_paged_list_has_every_tool_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let all = rpc(&mut http, "tools/list", &json!({"limit": 200}));
    assert_eq!(all["result"]["next_cursor"], Value::Null);
    let all = all["result"]["tools"].as_array().unwrap().clone();
    assert!(all.len() > 20);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = rpc(&mut http, "tools/list", &json!({"limit": 7, "cursor": cursor}));
        let tools = page["result"]["tools"].as_array().unwrap();
        seen.extend(tools.iter().cloned());
        cursor = page["result"]["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        assert_eq!(tools.len(), 7);
    }
    assert_eq!(seen, all);
    let page = rpc(&mut http, "tools/list", &json!({}));
    assert_eq!(page["result"]["tools"].as_array().unwrap().len(), all.len().min(50));
}

#[test]
fn a_disabled_tool_is_listed_as_disabled_and_cannot_be_called() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "disabled_tools = [\"probe/echo\"]\n");
    let mut http = server.connect();
    let listed = |http: &mut Http, filter: Value| {
        let answer = rpc(http, "tools/list", &json!({"filter": filter, "limit": 200}));
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        tools.into_iter().map(|tool| (tool["name"].clone(), tool["enabled"].clone())).collect::<Vec<_>>()
    };
    let echo = vec![(json!("probe/echo"), json!(false))];
    assert_eq!(listed(&mut http, json!({"names": ["probe/echo"]})), echo);
    assert_eq!(listed(&mut http, json!({"enabled": false})), echo);
    assert!(listed(&mut http, json!({"enabled": true})).iter().all(|tool| tool.0 != "probe/echo"));
    let rejected = rpc(&mut http, "probe/echo", &json!({"text": "x"}));
    assert_eq!(error(&rejected).0, 1006);
    assert!(rejected["error"]["data"]["detail"].as_str().unwrap().contains("disabled_tools"), "{rejected}");
    let standard = http.request("tools/list", json!({}), &[]).unwrap().message();
    let tools = standard["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["name"] != "probe_echo") && !tools.is_empty());
    let rejected = http.call("probe_echo", &json!({"text": "x"}));
    assert_eq!(rejected["result"]["_meta"]["io.mainstay/error"]["kind"], "unavailable", "{rejected}");
}

#[test]
fn a_rate_limit_is_listed_and_a_rejected_client_is_told_when_to_retry() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[engine.rate.per_tool.probe_echo]\ncalls = 2\nseconds = 3600\n");
    let mut http = server.connect();
    let listed = rpc(&mut http, "tools/list", &json!({"filter": {"names": ["probe/echo"]}}));
    assert_eq!(listed["result"]["tools"][0]["rate_limit"], json!({"calls": 2, "seconds": 3600}));
    for _ in 0..2 {
        assert_eq!(rpc(&mut http, "probe/echo", &json!({"text": "x"}))["result"]["text"], "x");
    }
    let rejected = rpc(&mut server.connect(), "probe/echo", &json!({"text": "x"}));
    assert_eq!((error(&rejected).0, &rejected["error"]["message"]), (1004, &json!("Rate limited")));
    let data = &rejected["error"]["data"];
    assert!(data["retry_after"].as_u64().unwrap() > 0 && data["detail"].is_string(), "{data}");
    assert_eq!((&data["limit"], &data["remaining"]), (&json!(2), &json!(0)));
}

#[test]
fn a_call_with_an_idempotency_key_happens_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let append = ask(1, "probe/append", &json!({"file": "a", "line": "x"}));
    for _ in 0..2 {
        let reply = http.rpc("/rpc", &[("Idempotency-Key", "k")], &append).message();
        assert_eq!(reply["result"], json!({"lines_written": 1}));
    }
    // The key stands for one call, whichever protocol it is made in.
    let standard = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    http.request("tools/call", standard, &[("Idempotency-Key", "k")]).unwrap();
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")];
    assert_eq!(error(&http.rpc("/rpc", &twice, &append).message()).0, 1003);
    assert_eq!(std::fs::read_to_string(data.path().join("probe/a")).unwrap(), "x\n");
}
