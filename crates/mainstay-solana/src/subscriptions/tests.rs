//! Subscriptions against a node that a test controls.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use super::{Event, Subscription, SubscriptionSettings, Subscriptions, Topic, TopicKind};
use crate::rpc::{NetworkSettings, RetrySettings, RpcError};

/// The node's side of the connection.
struct StubNode {
    listener: TcpListener,
}

struct StubConnection(WebSocketStream<TcpStream>);

impl StubNode {
    async fn start() -> (Self, Subscriptions) {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut SubscriptionSettings)) -> (Self, Subscriptions) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/canary-key", listener.local_addr().unwrap());
        let mut settings = SubscriptionSettings {
            linger: Duration::from_millis(1),
            backoff: RetrySettings {
                attempts: 1,
                first_backoff: Duration::from_millis(1),
                longest_backoff: Duration::from_millis(10),
            },
            ..SubscriptionSettings::default()
        };
        change(&mut settings);
        let network = NetworkSettings {
            name: "test".to_owned(),
            urls: vec!["http://127.0.0.1:1".to_owned()],
            ws_url: Some(url),
            genesis_hash: None,
            requests_per_second: None,
        };
        (Self { listener }, Subscriptions::new(&[network], settings).unwrap())
    }

    async fn accept(&self) -> StubConnection {
        let (stream, _) = self.listener.accept().await.unwrap();
        StubConnection(accept_async(stream).await.unwrap())
    }
}

impl StubConnection {
    /// The next request, or `None` at the end of the connection.
    async fn request(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    async fn send(&mut self, text: String) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Accepts the next subscription under this number, and returns its method and parameters.
    async fn accept_subscription(&mut self, number: u64) -> (String, Value) {
        let request = self.request().await.unwrap();
        self.send(json!({"jsonrpc": "2.0", "result": number, "id": request["id"]}).to_string()).await;
        (request["method"].as_str().unwrap().to_owned(), request["params"].clone())
    }

    async fn notify(&mut self, number: u64, result: &str) {
        let params = format!(r#"{{"subscription":{number},"result":{result}}}"#);
        self.send(format!(r#"{{"jsonrpc":"2.0","method":"accountNotification","params":{params}}}"#)).await;
    }
}

fn account(pubkey: &str) -> Topic {
    Topic { kind: TopicKind::Account, params: vec![json!(pubkey), json!({"commitment": "confirmed"})] }
}

/// Subscribes while the node accepts under this number.
async fn subscribed(
    node: &mut StubConnection,
    subscriptions: &Subscriptions,
    topic: Topic,
    number: u64,
) -> Subscription {
    let (subscription, _) =
        futures::future::join(subscriptions.subscribe("test", topic), node.accept_subscription(number)).await;
    subscription.unwrap()
}

/// The first subscription, with its connection.
async fn connected(node: &StubNode, subscriptions: &Subscriptions) -> (StubConnection, Subscription) {
    let serve = async {
        let mut connection = node.accept().await;
        let (method, params) = connection.accept_subscription(5).await;
        assert_eq!((method.as_str(), params), ("accountSubscribe", json!(account("a").params)));
        connection
    };
    let (connection, subscription) = futures::future::join(serve, subscriptions.subscribe("test", account("a"))).await;
    (connection, subscription.unwrap())
}

async fn changed(subscription: &mut Subscription) -> String {
    match subscription.next().await {
        Some(Event::Changed(result)) => result.get().to_owned(),
        other @ (Some(Event::Missed | Event::Failed(_)) | None) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_notification_is_delivered_to_the_byte() {
    let (node, subscriptions) = StubNode::start().await;
    let (mut connection, mut subscription) = connected(&node, &subscriptions).await;
    let result = r#"{"context": {"slot":1},"value":{"lamports": 18446744073709551616}}"#;
    connection.notify(9, "0").await;
    connection.notify(5, result).await;
    assert_eq!(changed(&mut subscription).await, result);
}

#[tokio::test]
async fn equal_subscribers_share_one_subscription_and_others_share_the_connection() {
    let (node, subscriptions) = StubNode::start().await;
    let (mut connection, mut first) = connected(&node, &subscriptions).await;
    let mut second = subscriptions.subscribe("test", account("a")).await.unwrap();
    let mut other = subscribed(&mut connection, &subscriptions, account("b"), 6).await;
    connection.notify(5, "1").await;
    connection.notify(6, "2").await;
    assert_eq!(changed(&mut first).await, "1");
    assert_eq!(changed(&mut second).await, "1");
    assert_eq!(changed(&mut other).await, "2");
}

#[tokio::test]
async fn the_last_subscriber_ends_the_subscription_and_then_the_connection() {
    let (node, subscriptions) = StubNode::start().await;
    let (mut connection, first) = connected(&node, &subscriptions).await;
    let second = subscriptions.subscribe("test", account("a")).await.unwrap();
    let other = subscribed(&mut connection, &subscriptions, account("b"), 6).await;
    drop(first);
    drop(other);
    let request = connection.request().await.unwrap();
    assert_eq!((&request["method"], &request["params"]), (&json!("accountUnsubscribe"), &json!([6])));
    drop(second);
    let request = connection.request().await.unwrap();
    assert_eq!(request["params"], json!([5]));
    assert_eq!(connection.request().await, None, "the connection is closed");
    let (mut connection, mut again) = connected(&node, &subscriptions).await;
    connection.notify(5, "3").await;
    assert_eq!(changed(&mut again).await, "3");
}

#[tokio::test]
async fn after_a_lost_connection_all_is_subscribed_anew_and_subscribers_are_told() {
    let (node, subscriptions) = StubNode::start().await;
    let (connection, mut subscription) = connected(&node, &subscriptions).await;
    drop(connection);
    let mut connection = node.accept().await;
    assert_eq!(connection.accept_subscription(77).await.0, "accountSubscribe");
    assert!(matches!(subscription.next().await, Some(Event::Missed)));
    connection.notify(5, "\"old number\"").await;
    connection.notify(77, "4").await;
    assert_eq!(changed(&mut subscription).await, "4");
}

#[tokio::test]
async fn a_rejected_subscription_is_reported_without_the_key() {
    let (node, subscriptions) = StubNode::start().await;
    let serve = async {
        let mut connection = node.accept().await;
        let request = connection.request().await.unwrap();
        let error = json!({"code": -32602, "message": "Invalid Request for canary-key"});
        connection.send(json!({"jsonrpc": "2.0", "error": error, "id": request["id"]}).to_string()).await;
        connection
    };
    let (_connection, outcome) = futures::future::join(serve, subscriptions.subscribe("test", account("x"))).await;
    let RpcError::Node { code, message, .. } = outcome.unwrap_err() else { panic!("no error of the node") };
    assert_eq!((code, message.as_str()), (-32602, "Invalid Request for [redacted]"));
    assert!(!format!("{subscriptions:?}").contains("canary"));
}

#[tokio::test]
async fn a_subscription_that_is_rejected_after_a_reconnection_ends() {
    let (node, subscriptions) = StubNode::start().await;
    let (connection, mut subscription) = connected(&node, &subscriptions).await;
    drop(connection);
    let mut connection = node.accept().await;
    let id = connection.request().await.unwrap()["id"].clone();
    connection.send(json!({"error": {"code": -32602, "message": "no"}, "id": id}).to_string()).await;
    assert!(matches!(subscription.next().await, Some(Event::Failed(RpcError::Node { code: -32602, .. }))));
    assert!(subscription.next().await.is_none());
}

#[tokio::test]
async fn a_slow_subscriber_gets_the_latest_notifications() {
    let (node, subscriptions) = StubNode::start_with(|settings| settings.kept_notifications = 4).await;
    let (mut connection, mut slow) = connected(&node, &subscriptions).await;
    let mut quick = subscriptions.subscribe("test", account("a")).await.unwrap();
    for number in 0..50 {
        connection.notify(5, &number.to_string()).await;
        assert_eq!(changed(&mut quick).await, number.to_string());
    }
    assert!(matches!(slow.next().await, Some(Event::Missed)));
    for number in 46..50 {
        assert_eq!(changed(&mut slow).await, number.to_string());
    }
}

#[tokio::test]
async fn the_fate_of_a_transaction_ends_its_subscription() {
    let (node, subscriptions) = StubNode::start().await;
    let (mut connection, other) = connected(&node, &subscriptions).await;
    let topic = Topic { kind: TopicKind::Signature, params: vec![json!("signature")] };
    let mut subscription = subscribed(&mut connection, &subscriptions, topic, 8).await;
    connection.notify(8, r#"{"value":"receivedSignature"}"#).await;
    connection.notify(8, r#"{"value":{"err":null}}"#).await;
    assert_eq!(changed(&mut subscription).await, r#"{"value":"receivedSignature"}"#);
    assert_eq!(changed(&mut subscription).await, r#"{"value":{"err":null}}"#);
    assert!(subscription.next().await.is_none());
    drop(subscription);
    let topic = Topic { kind: TopicKind::Logs, params: vec![json!("all")] };
    let _logs = subscribed(&mut connection, &subscriptions, topic, 9).await;
    // Had the worker ended a subscription that the node has ended, that request would have been the next one.
    drop(other);
    assert_eq!(connection.request().await.unwrap()["method"], "accountUnsubscribe");
}

#[tokio::test]
async fn a_connection_on_which_nothing_arrives_is_replaced() {
    let (node, subscriptions) = StubNode::start_with(|settings| {
        settings.ping_every = Duration::from_millis(50);
        settings.pong_within = Duration::from_millis(50);
    })
    .await;
    // Not read any more, this connection answers no ping.
    let (_silent, mut subscription) = connected(&node, &subscriptions).await;
    let mut connection = node.accept().await;
    connection.accept_subscription(6).await;
    assert!(matches!(subscription.next().await, Some(Event::Missed)));
}

#[tokio::test]
async fn a_message_above_the_limit_ends_the_connection() {
    let (node, subscriptions) = StubNode::start_with(|settings| settings.max_message_bytes = 10_000).await;
    let (mut connection, mut subscription) = connected(&node, &subscriptions).await;
    connection.notify(5, &format!("\"{}\"", "x".repeat(20_000))).await;
    let mut connection = node.accept().await;
    connection.accept_subscription(6).await;
    assert!(matches!(subscription.next().await, Some(Event::Missed)));
}

#[tokio::test]
async fn a_node_that_cannot_be_reached_is_named_by_its_host() {
    let (node, subscriptions) = StubNode::start().await;
    drop(node);
    let error = subscriptions.subscribe("test", account("a")).await.unwrap_err();
    assert!(matches!(error, RpcError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    let unknown = subscriptions.subscribe("moon", account("a")).await.unwrap_err();
    assert!(matches!(unknown, RpcError::UnknownNetwork { .. }), "{unknown:?}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_websocket_is_refused() {
    let (node, subscriptions) = StubNode::start().await;
    let serve = async {
        let (mut stream, _) = node.listener.accept().await.unwrap();
        let answer = b"HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
        stream
    };
    let (_stream, outcome) = futures::future::join(serve, subscriptions.subscribe("test", account("a"))).await;
    assert!(outcome.unwrap_err().to_string().contains("does not speak WebSocket"));
}
