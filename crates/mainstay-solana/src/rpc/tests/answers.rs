//! Answers: passed through, shared and cached.

use std::time::Duration;

use serde_json::{Value, json};

use super::stub::{Reply, Stub, at_slot};
use super::{NETWORK, balance, client, plain, query, settings};
use crate::rpc::{CacheUse, Client, ClientSettings, Query, RpcError};

/// A node whose slot is the first parameter, or 10, and whose value is the number of the request.
async fn counting() -> Stub {
    Stub::start(|number, request| {
        let slot = request["params"][0].as_u64().unwrap_or(10);
        Reply::Result(at_slot(slot, number))
    })
    .await
}

async fn ask(client: &Client, query: Query<'_>) -> (String, bool) {
    let answer = client.query(query).await.unwrap();
    (answer.value.get().to_owned(), answer.cached)
}

fn fresh(value: &str) -> (String, bool) {
    (value.to_owned(), false)
}

fn cached(value: &str) -> (String, bool) {
    (value.to_owned(), true)
}

#[tokio::test]
async fn values_are_passed_through_to_the_byte() {
    let value =
        r#"{"lamports": 18446744073709551615, "rentEpoch":18446744073709551616,  "uiAmount":1.10, "newField":[]}"#;
    let text = format!(r#"{{"context":{{"slot":9007199254740993,"apiVersion":"4.1.2"}},"value":{value}}}"#);
    let stub = Stub::always(Reply::Text(text)).await;
    let (client, _) = client(settings(&[&stub.url]));
    let answer = balance(&client).await.unwrap();
    assert_eq!(answer.value.get(), value);
    let context = answer.context.unwrap();
    assert_eq!((context.slot, context.api_version.as_deref()), (9_007_199_254_740_993, Some("4.1.2")));
    assert_eq!((answer.cached, answer.age), (false, Duration::ZERO));
}

#[tokio::test]
async fn requests_are_single_objects_with_ids_of_their_own() {
    let stub = counting().await;
    let (client, _) = client(settings(&[&stub.url]));
    let params = [json!(u64::MAX), json!({"minContextSlot": 9_007_199_254_740_993_u64})];
    for _ in 0..2 {
        client.query(query("getBalance", &params)).await.unwrap();
    }
    let requests = stub.requests();
    assert_eq!(requests[0]["params"], json!(params));
    assert_eq!((&requests[0]["jsonrpc"], &requests[0]["method"]), (&json!("2.0"), &json!("getBalance")));
    assert_ne!(requests[0]["id"], requests[1]["id"]);
}

#[tokio::test]
async fn a_hundred_equal_reads_at_once_are_one_request() {
    let slow = Reply::After(Duration::from_millis(200), Box::new(Reply::Result(at_slot(1, 7))));
    let stub = Stub::always(slow).await;
    let (client, _) = client(settings(&[&stub.url]));
    let all = futures::future::join_all((0..100).map(|_| balance(&client))).await;
    assert!(all.into_iter().all(|answer| answer.unwrap().value.get() == "7"));
    assert_eq!(stub.count(), 1);
    let others: Vec<[Value; 1]> = (0..3).map(|number| [json!(number)]).collect();
    futures::future::join_all(others.iter().map(|params| client.query(query("getBalance", params)))).await;
    assert_eq!(stub.count(), 4, "different reads are not shared");
}

#[tokio::test]
async fn a_reader_with_more_time_does_not_fail_with_one_that_has_less() {
    let slow = Reply::After(Duration::from_millis(300), Box::new(Reply::Result(at_slot(1, 7))));
    let stub = Stub::always(slow).await;
    let (client, _) = client(settings(&[&stub.url]));
    let short = Query { deadline: Duration::from_millis(50), ..query("getBalance", &[]) };
    let (hasty, patient) = futures::future::join(client.query(short), balance(&client)).await;
    assert!(matches!(hasty, Err(RpcError::TimedOut { .. })), "{hasty:?}");
    assert_eq!(patient.unwrap().value.get(), "7");
}

#[tokio::test]
async fn an_account_read_is_cached_until_a_newer_slot_is_observed() {
    let stub = counting().await;
    let (client, recorder) = client(settings(&[&stub.url]));
    let account = Query { cache: CacheUse::Slot, ..query("getBalance", &[]) };
    assert_eq!(ask(&client, account).await, fresh("0"));
    assert_eq!(ask(&client, account).await, cached("0"));
    assert_eq!(ask(&client, Query { commitment: Some("processed"), ..account }).await, fresh("1"));
    let next = [json!(11)];
    let later = Query { commitment: Some("processed"), ..query("getAccountInfo", &next) };
    client.query(later).await.unwrap();
    assert_eq!(ask(&client, account).await, cached("0"), "slots of another commitment do not count");
    client.query(query("getAccountInfo", &next)).await.unwrap();
    assert_eq!(ask(&client, account).await, fresh("4"));
    let lookups = recorder.lookups.lock().clone();
    let hits: Vec<bool> = lookups.iter().map(|(hit, _)| *hit).collect();
    assert_eq!(hits, [false, true, false, true, false]);
    assert!(lookups[0].1 == 0 && lookups[1].1 > 0, "{lookups:?}");
}

#[tokio::test]
async fn a_session_that_has_seen_a_later_slot_gets_no_older_cached_answer() {
    let stub = Stub::start(|number, _| Reply::Result(at_slot(10 + number as u64, number))).await;
    let (client, _) = client(settings(&[&stub.url]));
    let account = Query { cache: CacheUse::Slot, ..query("getBalance", &[]) };
    assert_eq!(ask(&client, account).await, fresh("0"));
    assert_eq!(ask(&client, Query { min_context_slot: Some(10), ..account }).await, cached("0"));
    let params = [json!({"minContextSlot": 10})];
    assert_eq!(ask(&client, Query { params: &params, ..account }).await, fresh("1"), "other options, another read");
    let (empty, later) = ([json!({})], [json!({"minContextSlot": 11})]);
    assert_eq!(ask(&client, Query { params: &empty, ..account }).await, cached("1"));
    assert_eq!(ask(&client, Query { params: &later, ..account }).await, cached("1"));
    assert_eq!(ask(&client, Query { min_context_slot: Some(12), params: &empty, ..account }).await, fresh("2"));
}

#[tokio::test]
async fn an_account_read_is_cached_for_one_slot_time_at_most() {
    let stub = counting().await;
    let (client, _) = client(ClientSettings { slot_time: Duration::from_nanos(1), ..settings(&[&stub.url]) });
    let account = Query { cache: CacheUse::Slot, ..query("getBalance", &[]) };
    assert_eq!(ask(&client, account).await, fresh("0"));
    assert_eq!(ask(&client, account).await, fresh("1"));
}

#[tokio::test]
async fn immutable_answers_stay_whatever_slots_are_observed() {
    let stub = counting().await;
    let (client, _) = client(settings(&[&stub.url]));
    let genesis = Query { cache: CacheUse::Immutable, ..query("getGenesisHash", &[]) };
    assert_eq!(ask(&client, genesis).await, fresh("0"));
    let later = [json!(5000)];
    client.query(query("getAccountInfo", &later)).await.unwrap();
    assert_eq!(ask(&client, genesis).await, cached("0"));
}

#[tokio::test]
async fn transactions_are_cached_when_finalized_and_null_never() {
    let stub = Stub::start(|number, request| match request["method"].as_str() {
        Some("missing") => Reply::Result(Value::Null),
        _ => Reply::Result(json!({"number": number})),
    })
    .await;
    let (client, _) = client(settings(&[&stub.url]));
    let with = |method, commitment| Query { cache: CacheUse::ImmutableIfFinalized, commitment, ..plain(method) };
    for (method, commitment, second_is_cached) in [
        ("getTransaction", Some("finalized"), true),
        ("getBlock", Some("confirmed"), false),
        ("getBlockTime", None, false),
        ("missing", Some("finalized"), false),
    ] {
        client.query(with(method, commitment)).await.unwrap();
        let second = client.query(with(method, commitment)).await.unwrap();
        assert_eq!(second.cached, second_is_cached, "{method}");
    }
}

#[tokio::test]
async fn without_cache_use_or_cache_memory_nothing_is_cached() {
    let stub = counting().await;
    let (never, recorder) = client(settings(&[&stub.url]));
    let (off, _) = client(ClientSettings { cache_bytes: 0, ..settings(&[&stub.url]) });
    let immutable = Query { cache: CacheUse::Immutable, ..query("getBalance", &[]) };
    for _ in 0..2 {
        assert!(!balance(&never).await.unwrap().cached);
        assert!(!off.query(immutable).await.unwrap().cached);
        assert!(!never.query(Query { retry: false, ..immutable }).await.unwrap().cached);
    }
    assert_eq!(stub.count(), 6);
    assert!(recorder.lookups.lock().is_empty());
}

#[tokio::test]
async fn an_unknown_network_is_named_with_those_there_are() {
    let stub = counting().await;
    let (client, _) = client(settings(&[&stub.url]));
    let error = client.query(Query { network: "moon", ..query("getBalance", &[]) }).await.unwrap_err();
    assert_eq!(error.to_string(), "There is no network \"moon\"; configured are test.");
    assert_eq!((client.default_network(), client.networks().len()), (NETWORK, 1));
}
