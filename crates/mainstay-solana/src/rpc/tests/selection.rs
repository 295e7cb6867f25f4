//! Which node is asked: failover, circuit breaker, chain, slots and budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::stub::{Reply, Stub, at_slot, closed_port};
use super::{NETWORK, balance, client, query, settings, text};
use crate::rpc::{BreakerSettings, CircuitState, ClientSettings, Query, RpcError};

const OURS: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
const OTHER: &str = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";

/// A node of a chain, which answers everything but its genesis hash by the function.
async fn of_chain(genesis: &'static str, answer: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Stub {
    Stub::start(move |number, request| match request["method"].as_str() {
        Some("getGenesisHash") => Reply::Result(json!(genesis)),
        _ => answer(number),
    })
    .await
}

fn pinned(urls: &[&str]) -> ClientSettings {
    let mut settings = settings(urls);
    settings.networks[0].genesis_hash = Some(OURS.to_owned());
    settings
}

fn seven() -> Reply {
    Reply::Result(at_slot(1000, 7))
}

#[tokio::test]
async fn the_next_url_answers_when_the_first_does_not() {
    let second = Stub::always(seven()).await;
    let limited = Reply::Http { status: 429, headers: "retry-after: 3600\r\n", body: String::new() };
    let first = Stub::always(limited).await;
    for broken in [first.url.clone(), closed_port().await] {
        let (client, _) = client(settings(&[&broken, &second.url]));
        assert_eq!(text(&client).await, "7");
    }
    assert_eq!((first.count(), second.count()), (1, 2));
}

#[tokio::test]
async fn the_first_url_is_preferred_while_it_answers() {
    let (first, second) = (Stub::always(seven()).await, Stub::always(seven()).await);
    let (client, _) = client(settings(&[&first.url, &second.url]));
    for _ in 0..5 {
        text(&client).await;
    }
    assert_eq!((first.count(), second.count()), (5, 0));
}

#[tokio::test]
async fn the_circuit_opens_after_failures_and_closes_when_the_node_is_back() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let stub = Stub::start(move |_, _| if up.load(Ordering::Relaxed) { seven() } else { Reply::Close }).await;
    let mut settings = settings(&[&stub.url]);
    settings.retry.attempts = 1;
    settings.breaker = BreakerSettings { failures: 3, open_for: Duration::from_millis(300) };
    let (client, recorder) = client(settings);
    for _ in 0..3 {
        assert!(balance(&client).await.is_err());
    }
    let error = balance(&client).await.unwrap_err();
    assert!(error.to_string().contains("left alone"), "{error}");
    assert_eq!(stub.count(), 3, "the fourth was not sent");
    assert_eq!(recorder.outcomes().last(), Some(&Err("circuit_open")));
    is_up.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(text(&client).await, "7");
    assert_eq!(client.health(NETWORK).await.unwrap().nodes[0].circuit, CircuitState::Closed);
}

#[tokio::test]
async fn an_open_circuit_leaves_the_work_to_the_other_node() {
    let (first, second) = (Stub::always(Reply::Close).await, Stub::always(seven()).await);
    let mut settings = settings(&[&first.url, &second.url]);
    settings.breaker.failures = 2;
    let (client, _) = client(settings);
    for _ in 0..6 {
        assert_eq!(text(&client).await, "7");
    }
    assert_eq!((first.count(), second.count()), (2, 6));
}

#[tokio::test]
async fn a_node_of_another_chain_is_refused_before_it_is_asked_anything() {
    let wrong = of_chain(OTHER, |_| seven()).await;
    let (alone, _) = client(pinned(&[&wrong.url]));
    let expected = |error: RpcError| {
        let RpcError::WrongGenesis { expected, found, .. } = error else { panic!("{error:?}") };
        assert_eq!((&*expected, &*found), (OURS, OTHER));
    };
    expected(balance(&alone).await.unwrap_err());
    expected(balance(&alone).await.unwrap_err());
    let sent = alone.send_once(NETWORK, "sendTransaction", &[], Duration::from_secs(5)).await;
    expected(sent.unwrap_err().error().clone());
    assert_eq!(wrong.methods(), ["getGenesisHash"]);

    let right = of_chain(OURS, |_| seven()).await;
    let (both, _) = client(pinned(&[&wrong.url, &right.url]));
    assert_eq!(text(&both).await, "7");
    assert_eq!(text(&both).await, "7");
    assert_eq!(wrong.methods(), ["getGenesisHash", "getGenesisHash"]);
    assert_eq!(right.methods(), ["getGenesisHash", "getBalance", "getBalance"]);
}

#[tokio::test]
async fn the_chain_is_checked_once_for_concurrent_calls_and_again_after_a_lost_connection() {
    let stub = of_chain(OURS, |number| if number == 4 { Reply::Close } else { seven() }).await;
    let (client, _) = client(pinned(&[&stub.url]));
    let params: Vec<[Value; 1]> = (0..3).map(|number| [json!(number)]).collect();
    let calls = params.iter().map(|params| client.query(query("getBalance", params)));
    assert!(futures::future::join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(stub.methods()[0], "getGenesisHash");
    assert_eq!(stub.methods()[1..], ["getBalance"; 3]);
    assert_eq!(text(&client).await, "7");
    assert_eq!(stub.methods()[4..], ["getBalance", "getGenesisHash", "getBalance"]);
}

#[tokio::test]
async fn an_answer_older_than_the_session_has_seen_is_asked_for_elsewhere() {
    let behind = Stub::always(Reply::Result(at_slot(900, 1))).await;
    let current = Stub::always(seven()).await;
    let (client, _) = client(settings(&[&behind.url, &current.url]));
    let answer = client.query(Query { min_context_slot: Some(1000), ..query("getBalance", &[]) }).await.unwrap();
    assert_eq!((answer.value.get(), answer.context.unwrap().slot), ("7", 1000));
    assert_eq!((behind.count(), current.count()), (1, 1));
    // The first call marks nothing: both were within reach. Having seen slot 1000, the second finds the node behind.
    assert_eq!(text(&client).await, "7");
    assert_eq!(text(&client).await, "7");
    assert_eq!((behind.count(), current.count()), (2, 3), "from then on it is avoided");
}

#[tokio::test]
async fn without_a_node_that_is_not_behind_the_session_does_not_go_back() {
    let behind = Stub::always(Reply::Result(at_slot(900, 1))).await;
    let (client, _) = client(settings(&[&behind.url]));
    let error = client.query(Query { min_context_slot: Some(1000), ..query("getBalance", &[]) }).await.unwrap_err();
    let RpcError::NodeBehind { slot, minimum, .. } = error else { panic!("{error:?}") };
    assert_eq!((slot, minimum), (900, 1000));
    assert_eq!(text(&client).await, "1", "other sessions get what there is");
}

#[tokio::test]
async fn a_node_that_calls_itself_behind_is_avoided() {
    let unhealthy = json!({"code": -32005, "message": "Node is behind by 200 slots", "data": {"numSlotsBehind": 200}});
    let (first, second) = (Stub::always(Reply::Error(unhealthy)).await, Stub::always(seven()).await);
    let (client, _) = client(settings(&[&first.url, &second.url]));
    for _ in 0..3 {
        assert_eq!(text(&client).await, "7");
    }
    assert_eq!((first.count(), second.count()), (1, 3));
}

#[tokio::test]
async fn the_budget_of_a_url_is_kept_and_the_next_url_takes_the_rest() {
    let (first, second) = (Stub::always(seven()).await, Stub::always(seven()).await);
    let mut settings = settings(&[&first.url, &second.url]);
    settings.networks[0].requests_per_second = Some(1);
    let (client, _) = client(settings);
    let short = Query { deadline: Duration::from_millis(200), ..query("getBalance", &[]) };
    let mut limited = 0;
    for _ in 0..4 {
        match client.query(short).await {
            Ok(_) => {}
            Err(RpcError::RateLimited { retry_after: Some(_), .. }) => limited += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(limited >= 1, "two tokens for four calls");
    assert!(first.count() >= 1 && second.count() >= 1);
    assert_eq!(first.count() + second.count() + limited, 4);
}

#[tokio::test]
async fn health_shows_every_node() {
    let node = |slot: u64| {
        Stub::start(move |_, request| match request["method"].as_str().unwrap() {
            "getSlot" => Reply::Result(json!(slot)),
            "getVersion" => Reply::Result(json!({"feature-set": 1, "solana-core": "4.1.2"})),
            "getGenesisHash" => Reply::Result(json!(OURS)),
            other => panic!("{other}"),
        })
    };
    let (first, second) = (node(1000).await, node(990).await);
    let (client, _) = client(pinned(&[&first.url, &second.url, &closed_port().await]));
    let health = client.health(NETWORK).await.unwrap();
    assert_eq!(
        (health.genesis.as_deref(), health.slot, health.version.as_deref()),
        (Some(OURS), Some(1000), Some("4.1.2"))
    );
    let behind: Vec<Option<u64>> = health.nodes.iter().map(|node| node.behind_by).collect();
    assert_eq!(behind, [Some(0), Some(10), None]);
    assert!(health.nodes[2].error.is_some());
    assert!(matches!(client.health("other").await, Err(RpcError::UnknownNetwork { .. })));
}
