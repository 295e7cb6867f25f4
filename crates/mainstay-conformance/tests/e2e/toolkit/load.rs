//! Many requests at once, more than the rate allows, and large responses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ask, error, greeted, greeted_with, initialize, probe};
use crate::testing::program::{command, run};

/// No request is refused for its rate.
const NO_LIMIT: &str = "[engine.rate]\nper_client = {calls = 10000000}\neach_tool = {calls = 10000000}\n\
    [engine.rate.per_dialect.toolkit]\ncalls = 10000000\nseconds = 1\n";

#[test]
fn a_hundred_and_twenty_eight_requests_run_at_once_and_the_next_one_waits() {
    let mut server = greeted();
    // The last one sleeps for the shortest time; what comes after it has no room until it is done.
    for id in 1..=128 {
        let ms = if id == 128 { 1500 } else { 5000 };
        server.write(probe(id, "probe_sleep", &json!({ "ms": ms })).as_bytes());
    }
    server.write(probe(129, "probe_echo", &json!({"text": "x"})).as_bytes());
    let answers: Vec<Value> = (0..129).map(|_| server.read().unwrap()).collect();
    let ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids[..2], [128, 129], "answered as they finish: {ids:?}");
    assert!(answers.iter().all(|answer| answer["result"].is_object()), "none failed");
    let mut all = ids.clone();
    all.sort_unstable();
    assert_eq!(all, (1..=129).collect::<Vec<_>>());
}

/// Pipes so many requests in and reads what comes back: how many results and how many errors of each code there are.
/// Fails if one is not answered exactly once.
fn pipe(calls: u64, configuration: &str) -> BTreeMap<i64, u64> {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, configuration).unwrap();
    let mut program = command(data.path(), &["stdio", "--dialect", "toolkit", "--config", file.to_str().unwrap()]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let writing = std::thread::spawn(move || {
        writeln!(input, "{}", initialize()).unwrap();
        for id in 0..calls {
            let line = match id % 4 {
                0 => probe(id, "ping", &json!({})),
                1 => probe(id, "probe_echo", &json!({"text": "x"})),
                2 => probe(id, "tools/call", &json!({"name": "probe_echo", "arguments": {"text": "x"}})),
                _ => probe(id, "tools/list", &json!({})),
            };
            writeln!(input, "{line}").unwrap();
        }
    });
    let mut lines = output.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["id"], "1");
    let (mut seen, mut codes) = (vec![false; usize::try_from(calls).unwrap()], BTreeMap::new());
    for answer in lines {
        let id = usize::try_from(answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"))).unwrap();
        assert!(!std::mem::replace(&mut seen[id], true), "{id} is answered twice");
        *codes.entry(answer["error"]["code"].as_i64().unwrap_or(0)).or_default() += 1;
    }
    writing.join().unwrap();
    assert!(child.wait().unwrap().success());
    let lost = seen.iter().filter(|answered| !**answered).count();
    assert_eq!(lost, 0, "not answered, of {calls}");
    codes
}

#[test]
fn of_a_hundred_thousand_requests_none_is_lost_and_those_beyond_the_rate_are_told_so() {
    let codes = pipe(100_000, "");
    let (served, refused) = (codes[&0], codes[&-32003]);
    assert_eq!(served + refused, 100_000, "{codes:?}");
    assert!(served >= 999, "a burst of 1000 is served, initialize among them: {codes:?}");
    assert!(refused > 50_000, "{codes:?}");
}

#[test]
fn a_hundred_thousand_requests_are_served_where_the_rate_allows_it() {
    assert_eq!(pipe(100_000, NO_LIMIT), BTreeMap::from([(0, 100_000)]));
}

#[test]
fn beyond_the_burst_a_request_is_refused_until_the_bucket_has_refilled() {
    let mut server = greeted();
    let mut refused = None;
    for id in 0..3000 {
        let answer = server.ask(&ask(&json!(id), "ping", &json!({})));
        if answer.get("error").is_some() {
            refused = Some((id, answer));
            break;
        }
    }
    let (served, answer) = refused.unwrap();
    assert!(served >= 999, "refused after {served}");
    assert_eq!((error(&answer).0, &answer["error"]["message"]), (-32003, &json!("Rate limit exceeded")));
    let data = &answer["error"]["data"];
    assert_eq!((&data["limit"], &data["retry_after"]), (&json!(1000), &json!(1)), "{answer}");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.ask(&ask(&json!("later"), "ping", &json!({})))["result"], json!({}));
}

#[test]
fn a_refusal_is_recorded_like_every_other_outcome() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[engine.rate.per_dialect.toolkit]\ncalls = 2\nseconds = 3600\n").unwrap();
    let mut program = command(data.path(), &["stdio", "--dialect", "toolkit", "--config", file.to_str().unwrap()]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", initialize()).unwrap();
    for id in 0..3 {
        writeln!(input, "{}", probe(id, "probe_echo", &json!({"text": "x"}))).unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let (code, shown, _) = run(data.path(), &["audit", "show"]);
    assert_eq!((code, shown.matches("rate_limited").count()), (0, 2), "{shown}");
}

#[test]
fn every_kind_of_request_counts_against_the_bucket() {
    let requests = [
        probe(1, "ping", &json!({})),
        probe(1, "tools/list", &json!({})),
        probe(1, "probe_echo", &json!({"text": "x"})),
        probe(1, "no/such", &json!({})),
        probe(1, "tools/call", &json!({})),
        initialize().to_string(),
        "{".to_owned(),
    ];
    for request in requests {
        // One of the two tokens is taken by initialize; the other comes back after half an hour.
        let mut server = greeted_with("[engine.rate.per_dialect.toolkit]\ncalls = 2\nseconds = 3600\n");
        let codes = [(); 2].map(|()| {
            server.write(request.as_bytes());
            server.read().unwrap()["error"]["code"].as_i64()
        });
        assert_ne!(codes[0], Some(-32003), "{request}");
        assert_eq!(codes[1], Some(-32003), "{request}");
    }
}

#[test]
fn a_response_of_nine_megabytes_takes_few_times_its_size_however_often_it_is_sent() {
    const BYTES: usize = 9_000_000;
    let mut server = greeted();
    let big = |bytes: usize| {
        let arguments = json!({ "bytes": bytes });
        ask(&json!(1), "tools/call", &json!({"name": "probe_big", "arguments": arguments})).to_string()
    };
    server.write(big(10).as_bytes());
    server.read().unwrap();
    let before = server.peak_memory();
    for _ in 0..20 {
        server.write(big(BYTES).as_bytes());
        let line = server.read_text().unwrap();
        assert_eq!(
            line.len(),
            BYTES + r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}"#.len() + 1
        );
    }
    let growth = server.peak_memory() - before;
    assert!(growth < 6 * BYTES as u64, "{growth} bytes for responses of {BYTES}");
}

#[test]
fn a_response_of_more_than_ten_megabytes_is_an_error_that_says_so() {
    const MOST: usize = 10 * 1024 * 1024;
    let mut server = greeted();
    let envelope = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"","type":"text"}]}}"#.len();
    for (bytes, fits) in [(MOST - envelope, true), (MOST - envelope + 1, false)] {
        let answer = server.ask(&ask(&json!(1), "probe_big", &json!({ "bytes": bytes })));
        assert_eq!(answer.get("result").is_some(), fits, "{bytes}");
        if !fits {
            let (code, detail) = error(&answer);
            assert_eq!(code, -32603);
            assert!(detail.contains("at most 10485760"), "{detail}");
        }
    }
}

#[test]
fn responses_that_nobody_reads_take_bounded_memory_and_every_request_is_answered() {
    const BYTES: usize = 9_000_000;
    let mut server = greeted_with("[server]\nunsent_bytes = 50000000\n");
    let before = server.peak_memory();
    for id in 0..128 {
        server.write(probe(id, "probe_big", &json!({ "bytes": BYTES })).as_bytes());
    }
    // Until all that runs without a reader has run.
    let mut peak = 0;
    while server.peak_memory() > peak {
        peak = server.peak_memory();
        std::thread::sleep(Duration::from_secs(1));
    }
    let mut answered = [false; 128];
    for _ in 0..128 {
        let answer = server.read().unwrap();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut answered[id], true), "{id} is answered twice");
        let lost = answer.get("error").map(|_| error(&answer));
        assert!(lost.is_none_or(|(code, detail)| code == -32603 && detail.contains("server.unsent_bytes")), "{answer}");
    }
    // All of them together are 1150 MB.
    let growth = server.peak_memory() - before;
    assert!(growth < 800_000_000, "{growth} bytes");
}
