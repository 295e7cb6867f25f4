//! Requests that must not be sent twice.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::stub::{Reply, Stub, closed_port};
use super::{NETWORK, client, settings};
use crate::rpc::{Client, RpcError, SendError};

async fn send(client: &Client, transaction: &str) -> Result<String, SendError> {
    let params = [json!(transaction), json!({"maxRetries": 0})];
    let sent = client.send_once(NETWORK, "sendTransaction", &params, Duration::from_millis(500)).await;
    sent.map(|value| value.get().to_owned())
}

#[tokio::test]
async fn a_signature_is_returned_as_it_came() {
    let stub = Stub::always(Reply::Result(json!("signature"))).await;
    let (client, recorder) = client(settings(&[&stub.url]));
    assert_eq!(send(&client, "tx").await, Ok("\"signature\"".to_owned()));
    assert_eq!((stub.count(), recorder.outcomes()), (1, vec![Ok(())]));
}

#[tokio::test]
async fn a_failed_send_is_never_repeated_on_any_node_and_says_what_it_may_have_done() {
    let http = |status| Reply::Http { status, headers: "", body: String::new() };
    let maybe = [
        Reply::Close,
        Reply::Cut,
        Reply::Silence,
        http(502),
        http(503),
        http(504),
        http(500),
        Reply::OtherId(json!(1)),
    ];
    for fault in maybe {
        let (first, second) = (Stub::always(fault.clone()).await, Stub::always(Reply::Result(json!("s"))).await);
        let (client, _) = client(settings(&[&first.url, &second.url]));
        let error = send(&client, "tx").await.unwrap_err();
        assert!(matches!(error, SendError::MaybeDelivered(_)), "{fault:?}: {error:?}");
        assert_eq!((first.count(), second.count()), (1, 0), "{fault:?}");
    }
    for fault in [http(429), http(403), http(413), Reply::Error(json!({"code": 429, "message": "Too many requests"}))] {
        let (first, second) = (Stub::always(fault.clone()).await, Stub::always(Reply::Result(json!("s"))).await);
        let (client, _) = client(settings(&[&first.url, &second.url]));
        let error = send(&client, "tx").await.unwrap_err();
        assert!(matches!(error, SendError::NotDelivered(_)), "{fault:?}: {error:?}");
        assert_eq!((first.count(), second.count()), (1, 0), "{fault:?}");
    }
}

#[tokio::test]
async fn a_send_without_a_connection_was_not_delivered() {
    let (client, _) = client(settings(&[&closed_port().await]));
    let error = send(&client, "tx").await.unwrap_err();
    assert!(matches!(error, SendError::NotDelivered(RpcError::Unreachable { .. })), "{error:?}");
}

#[tokio::test]
async fn a_rejected_send_keeps_the_error_of_the_node() {
    let body = json!({"code": -32002, "message": "Transaction simulation failed", "data": {"logs": []}});
    let stub = Stub::always(Reply::Error(body)).await;
    let (client, _) = client(settings(&[&stub.url]));
    let error = send(&client, "tx").await.unwrap_err();
    assert!(matches!(error, SendError::Rejected(RpcError::Node { code: -32002, .. })), "{error:?}");
}

#[tokio::test]
async fn even_an_error_that_passes_is_left_to_the_caller() {
    let stub = Stub::always(Reply::Error(json!({"code": -32005, "message": "Node is unhealthy"}))).await;
    let (client, _) = client(settings(&[&stub.url]));
    assert!(matches!(send(&client, "tx").await, Err(SendError::Rejected(_))));
    assert_eq!(stub.count(), 1);
}

#[tokio::test]
async fn nothing_is_sent_twice_over_connections_that_the_node_closes_unannounced() {
    let stub = Stub::start(|number, _| match number % 3 {
        0 => Reply::ThenClose(json!("signature")),
        1 => Reply::Close,
        _ => Reply::Result(json!("signature")),
    })
    .await;
    let (client, _) = client(settings(&[&stub.url]));
    let mut answered = HashSet::new();
    for number in 0..200 {
        let name = format!("tx{number}");
        match send(&client, &name).await {
            Ok(_) => assert!(answered.insert(name)),
            Err(SendError::MaybeDelivered(_) | SendError::NotDelivered(_)) => {}
            Err(other @ SendError::Rejected(_)) => panic!("{other:?}"),
        }
    }
    let received: Vec<Value> = stub.requests().into_iter().map(|request| request["params"][0].clone()).collect();
    let distinct: HashSet<String> = received.iter().map(ToString::to_string).collect();
    assert_eq!(received.len(), distinct.len(), "a transaction arrived twice");
    assert!(!answered.is_empty() && answered.len() < 200, "{}", answered.len());
}
