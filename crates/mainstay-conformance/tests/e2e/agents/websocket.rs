//! Events on `/ws`: order, subscriptions, replay after a reconnect, slow subscribers, limits.

use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::access::routes::{Issuer, with_auth};
use crate::consent::approval::with_config;
use crate::testing::program::Server;

const TIMEOUT: Duration = Duration::from_secs(30);

struct Subscriber(WebSocket<TcpStream>);

impl Subscriber {
    fn open(server: &Server) -> Self {
        Self::at(server, "/ws", &[]).unwrap()
    }

    /// Fails with the status of a refusal.
    fn at(server: &Server, path: &str, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://{}{path}", server.address).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(tungstenite::Error::Http(response))) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    fn receive(&mut self) -> Value {
        let patience = Instant::now() + TIMEOUT;
        while Instant::now() < patience {
            match self.0.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) => {}
                other @ (Message::Binary(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?}")
                }
            }
        }
        panic!("nothing but pings");
    }

    /// Reads to the end; the code and reason it was closed with.
    fn end(&mut self) -> (u16, String) {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => return (frame.code.into(), frame.reason.to_string()),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn echo(server: &Server, text: &str) {
    assert_eq!(server.call("probe_echo", &json!({"text": text}))["result"]["isError"], false);
}

fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('T') && text.ends_with('Z'))
}

#[test]
fn events_of_calls_and_prompts_arrive_in_order_in_the_contracts_format() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut subscriber = Subscriber::open(&server);
    echo(&server, "canary-51c0");
    server.call("probe_destroy", &json!({"file": "none"}));
    let long = "y".repeat(300);
    let prompt = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "staging", "arg2": long}});
    server.connect().request("prompts/get", prompt, &[]).unwrap();
    let received = [subscriber.receive(), subscriber.receive()];
    assert_eq!((&received[0]["event"], &received[0]["data"]["tool"]), (&json!("tool_executed"), &json!("probe_echo")));
    assert_eq!((&received[0]["data"]["result"], is_time(&received[0]["data"]["timestamp"])), (&json!("success"), true));
    assert_eq!(received[0]["data"].as_object().unwrap().len(), 3);
    // What waits for a person has not run, and is not told.
    let used = &received[1]["data"];
    assert_eq!((&received[1]["event"], &used["prompt"]), (&json!("prompt_used"), &json!("test_prompt_with_arguments")));
    assert_eq!(used["arguments"]["arg1"], "staging");
    assert!(used["arguments"]["arg2"].as_str().unwrap().contains("100 more characters"), "{used}");
    let ids: Vec<i64> = received.iter().map(|event| event["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids[0] < ids[1], "{ids:?}");
    assert!(!received.iter().any(|event| event.to_string().contains("canary")));
}

#[test]
fn a_subscriber_receives_only_matching_events() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut subscriber = Subscriber::open(&server);
    subscriber.send(&json!({"subscribe": {"events": ["tool_executed"], "tools": ["probe/append"]}}));
    let accepted = subscriber.receive();
    assert_eq!((&accepted["event"], &accepted["data"]["tools"]), (&json!("subscribed"), &json!(["probe_append"])));
    echo(&server, "x");
    let prompt = json!({"name": "test_simple_prompt"});
    server.connect().request("prompts/get", prompt, &[]).unwrap();
    server.call("probe_append", &json!({"file": "a", "line": "x"}));
    assert_eq!(subscriber.receive()["data"]["tool"], "probe_append");
    subscriber.send(&json!({"subscribe": {"events": ["prompt_used"]}, "resume": accepted["id"]}));
    assert_eq!(subscriber.receive()["event"], "subscribed");
    assert_eq!(subscriber.receive()["event"], "prompt_used");
    for wrong in [json!({"subscribe": {"events": ["tool"]}}), json!({"resume": "x"}), json!({}), json!([1])] {
        subscriber.send(&wrong);
        assert_eq!(subscriber.receive()["event"], "error", "{wrong}");
    }
}

#[test]
fn no_event_is_missed_after_a_reconnect_or_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut subscriber = Subscriber::open(&server);
    echo(&server, "one");
    let last = subscriber.receive()["id"].as_str().unwrap().to_owned();
    drop(subscriber);
    for _ in 0..3 {
        echo(&server, "while away");
    }
    let path = format!("/ws?last_event_id={last}");
    let mut subscriber = Subscriber::at(&server, &path, &[]).unwrap();
    let away: Vec<Value> = (0..3).map(|_| subscriber.receive()).collect();
    server.call("probe_append", &json!({"file": "a", "line": "x"}));
    let live = subscriber.receive();
    assert_eq!(live["data"]["tool"], "probe_append");
    server.terminate();
    assert_eq!(subscriber.end().0, 1001);
    assert_eq!(server.wait(), 0);

    let server = Server::start(data.path(), &[]);
    echo(&server, "after the restart");
    let mut subscriber = Subscriber::at(&server, &path, &[]).unwrap();
    let again: Vec<Value> = (0..4).map(|_| subscriber.receive()).collect();
    assert_eq!((&again[..3], &again[3]), (&away[..], &live));
    assert_eq!(subscriber.receive()["data"]["tool"], "probe_echo");
    let mut subscriber = Subscriber::at(&server, "/ws?last_event_id=999999999", &[]).unwrap();
    assert_eq!(subscriber.receive()["event"], "missed");
    assert_eq!(Subscriber::at(&server, "/ws?last_event_id=x", &[]).err(), Some(400));
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected_and_calls_continue() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (mut idle, mut other) = (Subscriber::open(&server), Subscriber::open(&server));
    for _ in 0..300 {
        echo(&server, "x");
    }
    let first = other.receive()["id"].as_str().unwrap().to_owned();
    (1..300).for_each(|_| drop(other.receive()));
    // It asks for everything again and again, and takes none of it.
    for _ in 0..250 {
        idle.send(&json!({ "resume": first }));
        std::thread::sleep(Duration::from_millis(12));
    }
    let until = Instant::now() + Duration::from_secs(11);
    while Instant::now() < until {
        echo(&server, "y");
        assert_eq!(other.receive()["data"]["result"], "success");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, reason) = idle.end();
    assert_eq!(code, 1013);
    assert!(reason.contains("too slowly"), "{reason}");
}

#[test]
fn a_token_is_required_and_the_connection_ends_when_it_expires() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let token = |change: &Value| issuer.token(change);
    let good = token(&json!({}));
    assert_eq!(Subscriber::at(&server, "/ws", &[]).err(), Some(401));
    let query = format!("/ws?access_token={good}&token={good}");
    assert_eq!(Subscriber::at(&server, &query, &[]).err(), Some(401), "a token in the URL");
    assert_eq!(Subscriber::at(&server, "/ws", &[("Sec-WebSocket-Protocol", "bearer, nonsense")]).err(), Some(401));
    let writer = format!("Bearer {}", token(&json!({"scope": "write"})));
    let rejected = crate::access::routes::request_route(
        &server,
        "/ws",
        &[("Host", &server.address.to_string()), ("Authorization", &writer)],
    );
    let challenge = rejected.header("www-authenticate").unwrap_or_default();
    assert!(
        rejected.status == 403 && challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"read\""),
        "{} {challenge}",
        rejected.status
    );
    let mut browser =
        Subscriber::at(&server, "/ws", &[("Sec-WebSocket-Protocol", &format!("bearer, {good}"))]).unwrap();
    // A clock may be off by half a minute, so this one is good for a few seconds more.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let passing = format!("Bearer {}", token(&json!({"exp": now - 27})));
    let mut subscriber = Subscriber::at(&server, "/ws", &[("Authorization", &passing)]).unwrap();
    assert_eq!(subscriber.end().0, 1008);
    // Somebody else's calls are not heard; one's own are.
    let mut http = server.connect();
    for who in ["bob", "alice"] {
        let bearer = format!("Bearer {}", token(&json!({"sub": who})));
        let tool = if who == "bob" { "probe_whoami" } else { "probe_echo" };
        let call = json!({"name": tool, "arguments": if who == "bob" { json!({}) } else { json!({"text": "x"}) }});
        http.request("tools/call", call, &[("Authorization", &bearer)]).unwrap();
    }
    assert_eq!(browser.receive()["data"]["tool"], "probe_echo");
}

#[test]
fn the_connection_limit_holds_and_an_oversized_message_ends_only_its_connection() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nwebsockets = 2\n");
    let (mut one, mut two) = (Subscriber::open(&server), Subscriber::open(&server));
    assert_eq!(Subscriber::at(&server, "/ws", &[]).err(), Some(503));
    assert_eq!(Subscriber::at(&server, "/ws", &[("Origin", "http://evil.example")]).err(), Some(403));
    let _ = two.0.send(Message::text("x".repeat(70_000)));
    while two.0.read().is_ok() {}
    echo(&server, "x");
    assert_eq!(one.receive()["data"]["tool"], "probe_echo");
    crate::testing::program::wait_until(|| Subscriber::at(&server, "/ws", &[]).is_ok());
}
