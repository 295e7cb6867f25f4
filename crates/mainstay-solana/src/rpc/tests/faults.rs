//! Reads recover from faults that pass, and report those that stay.

use std::time::Duration;

use serde_json::json;

use super::stub::{Reply, Stub, at_slot, closed_port};
use super::{balance, client, plain, query, settings, text};
use crate::rpc::{Query, RpcError};

/// A node that fails once and then answers 7.
async fn fails_once(fault: Reply) -> Stub {
    Stub::start(move |number, _| if number == 0 { fault.clone() } else { Reply::Result(at_slot(1, 7)) }).await
}

fn http(status: u16, headers: &'static str) -> Reply {
    Reply::Http { status, headers, body: "not JSON".into() }
}

fn node_error(code: i64, message: &str) -> Reply {
    Reply::Error(json!({"code": code, "message": message}))
}

#[tokio::test]
async fn a_read_recovers_from_every_fault_that_passes() {
    let faults = [
        (http(429, "retry-after: 0\r\n"), "rate_limited"),
        (http(429, "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n"), "rate_limited"),
        (http(429, ""), "rate_limited"),
        (node_error(429, "Too many requests for a specific RPC call"), "rate_limited"),
        (http(502, ""), "transport"),
        (http(503, "retry-after: 0\r\n"), "transport"),
        (http(504, ""), "transport"),
        (Reply::Close, "transport"),
        (Reply::Cut, "malformed"),
        (Reply::Text("tru".into()), "malformed"),
        (Reply::OtherId(at_slot(1, 8)), "malformed"),
        (Reply::Result(json!(8)), "malformed"),
        (node_error(-32004, "Block not available for slot 1"), "node"),
        (node_error(-32005, "Node is unhealthy"), "node"),
        (node_error(-32014, "Block status not yet available"), "node"),
        (node_error(-32016, "Minimum context slot has not been reached"), "node"),
    ];
    for (fault, error_type) in faults {
        let stub = fails_once(fault.clone()).await;
        let (client, recorder) = client(settings(&[&stub.url]));
        assert_eq!(text(&client).await, "7", "{fault:?}");
        assert_eq!(stub.count(), 2, "{fault:?}");
        assert_eq!(recorder.outcomes(), [Err(error_type), Ok(())], "{fault:?}");
    }
}

#[tokio::test]
async fn a_read_recovers_from_a_node_that_does_not_answer() {
    let stub = fails_once(Reply::Silence).await;
    let mut settings = settings(&[&stub.url]);
    settings.timeout = Duration::from_millis(100);
    let (client, recorder) = client(settings);
    assert_eq!(text(&client).await, "7");
    assert_eq!(recorder.outcomes(), [Err("timeout"), Ok(())]);
}

#[tokio::test]
async fn an_error_of_the_node_is_the_answer_and_is_not_retried() {
    let data = json!({"logs": ["a"], "units": u64::MAX});
    let stub = Stub::always(Reply::Error(json!({"code": -32602, "message": "Invalid param", "data": data}))).await;
    let (client, recorder) = client(settings(&[&stub.url]));
    let error = balance(&client).await.unwrap_err();
    assert_eq!(error, RpcError::Node { code: -32602, message: "Invalid param".into(), data: Some(data) });
    assert_eq!((stub.count(), recorder.outcomes()), (1, vec![Err("node")]));
}

#[tokio::test]
async fn an_error_of_the_node_is_read_whatever_the_status() {
    let body = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#;
    let stub = Stub::always(Reply::Http { status: 400, headers: "", body: body.into() }).await;
    let (client, _) = client(settings(&[&stub.url]));
    let error = balance(&client).await.unwrap_err();
    assert_eq!(error, RpcError::Node { code: -32600, message: "no".into(), data: None });
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_reported_instead_of_waited() {
    let stub = Stub::always(http(429, "retry-after: 3600\r\n")).await;
    let (client, recorder) = client(settings(&[&stub.url]));
    let limited = RpcError::RateLimited { network: "test".into(), retry_after: Some(Duration::from_hours(1)) };
    assert_eq!(balance(&client).await.unwrap_err(), limited);
    assert_eq!(stub.count(), 1);
    // The node rests for all later calls, too.
    assert!(matches!(balance(&client).await, Err(RpcError::RateLimited { retry_after: Some(_), .. })));
    assert_eq!((stub.count(), recorder.outcomes().len()), (1, 1));
}

#[tokio::test]
async fn attempts_are_bounded_and_the_last_error_is_reported() {
    let stub = Stub::always(http(503, "")).await;
    let (client, _) = client(settings(&[&stub.url]));
    let error = balance(&client).await.unwrap_err();
    assert!(error.to_string().contains("HTTP status 503"), "{error}");
    assert_eq!(stub.count(), 5);
}

#[tokio::test]
async fn the_deadline_ends_a_call() {
    let stub = Stub::always(Reply::Silence).await;
    let (client, _) = client(settings(&[&stub.url]));
    let short = Query { deadline: Duration::from_millis(100), ..query("getBalance", &[]) };
    let error = client.query(short).await.unwrap_err();
    assert_eq!(error, RpcError::TimedOut { network: "test".into(), method: "getBalance".into() });
    assert_eq!(stub.count(), 1);
}

#[tokio::test]
async fn a_query_without_retry_is_sent_once() {
    let stub = Stub::always(http(503, "")).await;
    let (client, _) = client(settings(&[&stub.url]));
    let once = Query { retry: false, ..query("simulateTransaction", &[]) };
    assert!(client.query(once).await.is_err());
    assert_eq!(stub.count(), 1);
}

#[tokio::test]
async fn a_response_of_20_mb_is_refused_and_not_asked_for_again() {
    let stub = Stub::always(Reply::Http { status: 200, headers: "", body: "x".repeat(20_000_000) }).await;
    let (client, recorder) = client(settings(&[&stub.url]));
    let error = client.query(plain("getProgramAccounts")).await.unwrap_err();
    assert_eq!(error, RpcError::TooLarge { limit: 16 * 1024 * 1024 });
    assert_eq!((stub.count(), recorder.outcomes()), (1, vec![Err("too_large")]));
}

#[tokio::test]
async fn a_response_without_a_length_is_bounded_too() {
    let stub = Stub::always(Reply::Unbounded { bytes: 1_000_000 }).await;
    let mut settings = settings(&[&stub.url]);
    settings.max_response_bytes = 100_000;
    let (client, _) = client(settings);
    assert_eq!(client.query(plain("getSlot")).await.unwrap_err(), RpcError::TooLarge { limit: 100_000 });
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Stub::always(Reply::Result(at_slot(1, 7))).await;
    let location: &'static str = Box::leak(format!("location: {}/\r\n", target.url).into_boxed_str());
    let stub = Stub::always(http(307, location)).await;
    let (client, _) = client(settings(&[&stub.url]));
    assert!(matches!(balance(&client).await, Err(RpcError::Unreachable { .. })));
    assert_eq!(target.count(), 0);
}

#[tokio::test]
async fn api_keys_are_in_no_error_and_no_debug_output() {
    let echo = json!({"code": -32000, "message": "bad key canary-path", "data": ["canary-query"]});
    let faults = [Reply::Error(echo), http(401, ""), Reply::Close, Reply::Cut, http(503, ""), Reply::OtherId(json!(1))];
    for fault in faults {
        let stub = Stub::always(fault).await;
        let (client, _) = client(settings(&[&format!("{}/v2/canary-path?api-key=canary-query", stub.url)]));
        let error = balance(&client).await.unwrap_err();
        let printed = format!("{error} {error:?} {client:?}");
        assert!(!printed.contains("canary"), "{printed}");
        assert!(printed.contains("127.0.0.1"), "{printed}");
        assert!(stub.count() >= 1);
    }
    let (client, _) = client(settings(&[&format!("{}/canary-path", closed_port().await)]));
    let error = balance(&client).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}
