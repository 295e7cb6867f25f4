//! Many agents that log concurrently over HTTP, in the dialect `agents`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::testing::program::{Http, Server};

const AGENTS: usize = 200;

/// How long they log; without it, as long as a test run has time for.
const SECONDS: &str = "MAINSTAY_SOAK_SECONDS";

fn log(http: &mut Http, agent: &str, nth: usize) -> i64 {
    let params = json!({
        "name": "log_activity",
        "arguments": {"agent": agent, "activity": format!("step {nth}"), "category": "task", "status": "completed"},
    });
    let request = json!({"jsonrpc": "2.0", "id": nth, "method": "tools/call", "params": params});
    let reply = http.rpc("/jsonrpc", &[], &request);
    let message = reply.message();
    assert_eq!((reply.status, &message["result"]["success"]), (200, &json!(true)), "{agent}: {message}");
    message["result"]["id"].as_i64().unwrap()
}

struct Logged {
    agent: String,
    ids: Vec<i64>,
    times: Vec<Duration>,
}

fn keep_logging(server: &Server, agent: String, until: Instant) -> Logged {
    let mut http = server.connect();
    let (mut ids, mut times) = (Vec::new(), Vec::new());
    while ids.is_empty() || Instant::now() < until {
        let begun = Instant::now();
        ids.push(log(&mut http, &agent, ids.len()));
        times.push(begun.elapsed());
    }
    Logged { agent, ids, times }
}

/// Everything the store has of one agent, oldest first.
fn stored(http: &mut Http, agent: &str) -> Vec<(i64, Value)> {
    let (mut rows, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut args = json!({"agent": agent, "limit": 200});
        if !cursor.is_null() {
            args["cursor"] = cursor;
        }
        let page = http.call("agents_activities", &args)["result"]["structuredContent"].clone();
        let items = page["activities"].as_array().unwrap_or_else(|| panic!("{page}"));
        rows.extend(items.iter().map(|row| (row["id"].as_i64().unwrap(), row["activity"].clone())));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            rows.reverse();
            return rows;
        }
    }
}

#[test]
fn concurrent_logs_of_200_agents_lose_nothing_and_keep_each_agents_order() {
    let seconds = std::env::var(SECONDS).ok().map_or(2, |seconds| seconds.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    let lifted = ["per_dialect.agents", "per_client", "each_tool"];
    let lifted = lifted.map(|limit| format!("[engine.rate.{limit}]\ncalls = 1000000000\nseconds = 1\n"));
    std::fs::write(&config, lifted.concat()).unwrap();
    let server = Server::start(data.path(), &["--config", config.to_str().unwrap()]);
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    let logged: Vec<Logged> = std::thread::scope(|scope| {
        let server = &server;
        let agents: Vec<_> =
            (0..AGENTS).map(|nth| scope.spawn(move || keep_logging(server, format!("agent-{nth}"), until))).collect();
        agents.into_iter().map(|agent| agent.join().unwrap()).collect()
    });
    let took = begun.elapsed();
    let mut times: Vec<Duration> = logged.iter().flat_map(|logged| logged.times.iter().copied()).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let each = took / u32::try_from(times.len()).unwrap();
    println!(
        "{AGENTS} agents, {} calls in {took:.1?}: one each {each:.1?}, p50 {:.1?}, p99 {:.1?}",
        times.len(),
        at(50),
        at(99)
    );
    let mut http = server.connect();
    for Logged { agent, ids, .. } in logged {
        let reported: Vec<_> = ids.into_iter().zip((0..).map(|nth: usize| json!(format!("step {nth}")))).collect();
        assert!(reported.is_sorted_by_key(|(id, _)| *id), "{agent}");
        assert_eq!(stored(&mut http, &agent), reported, "{agent}");
    }
}
