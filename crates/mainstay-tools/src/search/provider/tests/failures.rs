//! Services that fail: what is told, how long it takes, and what happens next.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stub::{Reply, Stub};
use super::*;

fn http(status: u16, headers: &[(&'static str, &str)], body: &Value) -> Reply {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Reply::Http { status, headers, body: body.to_string() }
}

async fn error_of(reply: Reply) -> EmbedError {
    let stub = Stub::always(reply).await;
    embed(&embedder(&settings(&stub)), &["a", "b"]).await.unwrap_err()
}

#[tokio::test]
async fn answers_that_are_not_one_vector_for_each_text_are_malformed() {
    let item = |index: usize, embedding: Value| json!({"index": index, "embedding": embedding});
    for (body, expected) in [
        (json!({"data": [item(0, json!([1, 0]))]}), "1 vectors for 2 texts"),
        (json!({"data": [item(0, json!([1, 0])), item(1, json!([1]))]}), "set `dimensions` to 1"),
        (json!({"data": [item(0, json!([1, 0])), item(1, json!([1, null]))]}), "not JSON with"),
        (json!({"data": [item(0, json!([1, 0])), item(0, json!([1, 0]))]}), "two vectors"),
        (json!({"ok": true}), "not JSON with"),
    ] {
        let error = error_of(Reply::json(&body)).await;
        assert!(matches!(&error, EmbedError::Malformed { reason } if reason.contains(expected)), "{error}");
    }
    let nan = r#"{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [0, 1]}]}"#;
    let error = error_of(Reply::Http { status: 200, headers: Vec::new(), body: nan.to_owned() }).await;
    assert!(matches!(error, EmbedError::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read_to_its_end() {
    // Announced, and without a length.
    let body = " ".repeat(1 << 20);
    for reply in [Reply::Http { status: 200, headers: Vec::new(), body }, Reply::Unbounded { bytes: 64 << 20 }] {
        let error = error_of(reply).await;
        assert!(matches!(&error, EmbedError::Malformed { reason } if reason.contains("sends more than")), "{error}");
    }
}

#[tokio::test]
async fn refusals_say_what_to_change_and_do_not_keep_others_waiting() {
    for (status, body, expected) in [
        (401, json!({}), "needs an API key; set `key_file`"),
        (403, json!({}), "needs an API key"),
        (404, json!({"error": {"message": "no model\n\u{7} small"}}), "HTTP 404: no model small"),
        (400, json!({"error": "input is too long"}), "HTTP 400: input is too long"),
        (422, json!({"detail": "x".repeat(9_999)}), "HTTP 422: xxx"),
        (418, json!(null), "answers HTTP 418"),
    ] {
        let stub = Stub::start(move |number| if number == 0 { http(status, &[], &body) } else { Reply::Vectors }).await;
        let embedder = embedder(&settings(&stub));
        let error = embed(&embedder, &["a"]).await.unwrap_err();
        assert!(matches!(&error, EmbedError::Refused { reason } if reason.contains(expected)), "{status}: {error}");
        assert!(!error.is_temporary() && error.to_string().len() < 400);
        assert!(embed(&embedder, &["b"]).await.is_ok(), "another text may be accepted");
    }
}

#[tokio::test]
async fn a_redirect_is_refused_and_not_followed() {
    let other = Stub::always(Reply::Vectors).await;
    for status in [301, 302, 307, 308] {
        let error = error_of(http(status, &[("location", &other.url)], &json!({}))).await;
        assert!(matches!(&error, EmbedError::Refused { reason } if reason.contains("redirects")), "{error}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_service_that_asks_for_patience_is_asked_once_more() {
    for status in [429, 503] {
        let patience = http(status, &[("retry-after", "1")], &json!({}));
        let stub = Stub::start(move |number| if number == 0 { patience.clone() } else { Reply::Vectors }).await;
        let start = Instant::now();
        assert!(embed(&embedder(&settings(&stub)), &["a"]).await.is_ok());
        assert!(start.elapsed() >= Duration::from_secs(1));
        assert_eq!(stub.seen().len(), 2);
        assert_eq!(stub.seen()[0].body, stub.seen()[1].body);
    }
}

#[tokio::test]
async fn patience_ends_with_the_second_attempt_and_with_the_deadline() {
    let stub = Stub::always(http(429, &[("retry-after", "0")], &json!({}))).await;
    let error = embed(&embedder(&settings(&stub)), &["a"]).await.unwrap_err();
    assert!(error.to_string().contains("limits the rate"), "{error}");
    assert_eq!(stub.seen().len(), 2);
    // Longer than the deadline: not waited for, but told.
    let stub = Stub::always(http(503, &[("retry-after", "30")], &json!({}))).await;
    let start = Instant::now();
    let error = embed(&embedder(&settings(&stub)), &["a"]).await.unwrap_err();
    let asked = Some(Duration::from_secs(30));
    assert!(matches!(error, EmbedError::Unavailable { retry_after, .. } if retry_after == asked));
    assert!(start.elapsed() < Duration::from_secs(4));
    assert_eq!(stub.seen().len(), 1);
    // No number of seconds is too large to be compared.
    let error = error_of(http(429, &[("retry-after", &u64::MAX.to_string())], &json!({}))).await;
    assert!(error.is_temporary(), "{error}");
}

#[tokio::test]
async fn after_a_failure_the_service_is_left_alone() {
    for status in [500, 502, 429] {
        let stub = Stub::always(Reply::status(status)).await;
        let embedder = embedder(&settings(&stub));
        let first = embed(&embedder, &["a"]).await.unwrap_err();
        assert!(first.is_temporary() && first.to_string().contains(&status.to_string()), "{first}");
        let second = query(&embedder, "b").await.unwrap_err();
        let is_soon = matches!(&second, EmbedError::Unavailable { retry_after: Some(wait), .. } if wait.as_secs() < 6);
        assert!(is_soon && second.to_string().contains("tried again"), "{second}");
        assert_eq!(stub.seen().len(), 1, "no retry without a date, and no second request");
    }
}

#[tokio::test]
async fn a_service_that_hangs_costs_one_deadline_and_then_nothing() {
    let stub = Stub::always(Reply::Silence).await;
    let embedder = embedder(&EmbeddingProvider { timeout_ms: 300, ..settings(&stub) });
    let start = Instant::now();
    let error = query(&embedder, "a").await.unwrap_err();
    let took = start.elapsed();
    assert!(error.to_string().contains("did not answer within 300 ms"), "{error}");
    assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(3), "{took:?}");
    let start = Instant::now();
    for _ in 0..20 {
        assert!(query(&embedder, "a").await.is_err());
    }
    // Each would take a deadline, and all of them six seconds.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn those_in_the_queue_of_a_service_that_hangs_leave_it() {
    let stub = Stub::always(Reply::Silence).await;
    let embedder = embedder(&EmbeddingProvider { timeout_ms: 800, batch: 1, concurrent: 2, ..settings(&stub) });
    let start = Instant::now();
    let callers = (0..6).map(|_| embed(&embedder, &["a", "b", "c"]));
    assert!(futures::future::join_all(callers).await.iter().all(Result::is_err));
    // One after the other they would take six deadlines.
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_named_by_its_host() {
    let stub = Stub::always(Reply::Vectors).await;
    let mut settings = settings(&stub);
    settings.url = "http://127.0.0.1:1/v1/canary?key=canary".to_owned();
    let error = embed(&embedder(&settings), &["a"]).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1 cannot be reached") && !error.contains("canary"), "{error}");
}
