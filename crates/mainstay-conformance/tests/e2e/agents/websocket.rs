//! `/ws`: what listeners hear, and what happens to those who do not listen.

use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::access::routes::{Issuer, with_auth};
use crate::consent::approval::with_config;
use crate::testing::program::Server;

const PATIENCE: Duration = Duration::from_secs(30);

struct Ear(WebSocket<TcpStream>);

impl Ear {
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
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(tungstenite::Error::Http(response))) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    fn say(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    fn hear(&mut self) -> Value {
        let patience = Instant::now() + PATIENCE;
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
fn calls_and_prompts_are_told_in_order_in_the_contracts_shape() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ear = Ear::open(&server);
    echo(&server, "canary-51c0");
    server.call("probe_destroy", &json!({"file": "none"}));
    let long = "y".repeat(300);
    let prompt = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "staging", "arg2": long}});
    server.connect().request("prompts/get", prompt, &[]).unwrap();
    let heard = [ear.hear(), ear.hear()];
    assert_eq!((&heard[0]["event"], &heard[0]["data"]["tool"]), (&json!("tool_executed"), &json!("probe_echo")));
    assert_eq!((&heard[0]["data"]["result"], is_time(&heard[0]["data"]["timestamp"])), (&json!("success"), true));
    assert_eq!(heard[0]["data"].as_object().unwrap().len(), 3);
    // What waits for a person has not run, and is not told.
    let used = &heard[1]["data"];
    assert_eq!((&heard[1]["event"], &used["prompt"]), (&json!("prompt_used"), &json!("test_prompt_with_arguments")));
    assert_eq!(used["arguments"]["arg1"], "staging");
    assert!(used["arguments"]["arg2"].as_str().unwrap().contains("100 more characters"), "{used}");
    let ids: Vec<i64> = heard.iter().map(|event| event["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids[0] < ids[1], "{ids:?}");
    assert!(!heard.iter().any(|event| event.to_string().contains("canary")));
}

#[test]
fn a_listener_hears_only_what_it_subscribed_to() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ear = Ear::open(&server);
    ear.say(&json!({"subscribe": {"events": ["tool_executed"], "tools": ["probe/append"]}}));
    let accepted = ear.hear();
    assert_eq!((&accepted["event"], &accepted["data"]["tools"]), (&json!("subscribed"), &json!(["probe_append"])));
    echo(&server, "x");
    let prompt = json!({"name": "test_simple_prompt"});
    server.connect().request("prompts/get", prompt, &[]).unwrap();
    server.call("probe_append", &json!({"file": "a", "line": "x"}));
    assert_eq!(ear.hear()["data"]["tool"], "probe_append");
    ear.say(&json!({"subscribe": {"events": ["prompt_used"]}, "resume": accepted["id"]}));
    assert_eq!(ear.hear()["event"], "subscribed");
    assert_eq!(ear.hear()["event"], "prompt_used");
    for wrong in [json!({"subscribe": {"events": ["tool"]}}), json!({"resume": "x"}), json!({}), json!([1])] {
        ear.say(&wrong);
        assert_eq!(ear.hear()["event"], "error", "{wrong}");
    }
}

#[test]
fn nothing_is_missed_between_two_connections_nor_across_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ear = Ear::open(&server);
    echo(&server, "one");
    let last = ear.hear()["id"].as_str().unwrap().to_owned();
    drop(ear);
    for _ in 0..3 {
        echo(&server, "while away");
    }
    let path = format!("/ws?last_event_id={last}");
    let mut ear = Ear::at(&server, &path, &[]).unwrap();
    let away: Vec<Value> = (0..3).map(|_| ear.hear()).collect();
    server.call("probe_append", &json!({"file": "a", "line": "x"}));
    let live = ear.hear();
    assert_eq!(live["data"]["tool"], "probe_append");
    server.terminate();
    assert_eq!(ear.end().0, 1001);
    assert_eq!(server.wait(), 0);

    let server = Server::start(data.path(), &[]);
    echo(&server, "after the restart");
    let mut ear = Ear::at(&server, &path, &[]).unwrap();
    let again: Vec<Value> = (0..4).map(|_| ear.hear()).collect();
    assert_eq!((&again[..3], &again[3]), (&away[..], &live));
    assert_eq!(ear.hear()["data"]["tool"], "probe_echo");
    let mut ear = Ear::at(&server, "/ws?last_event_id=999999999", &[]).unwrap();
    assert_eq!(ear.hear()["event"], "missed");
    assert_eq!(Ear::at(&server, "/ws?last_event_id=x", &[]).err(), Some(400));
}

#[test]
fn a_listener_that_does_not_read_is_dropped_with_a_reason_and_calls_go_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (mut idle, mut other) = (Ear::open(&server), Ear::open(&server));
    for _ in 0..300 {
        echo(&server, "x");
    }
    let first = other.hear()["id"].as_str().unwrap().to_owned();
    (1..300).for_each(|_| drop(other.hear()));
    // It asks for everything again and again, and takes none of it.
    for _ in 0..250 {
        idle.say(&json!({ "resume": first }));
        std::thread::sleep(Duration::from_millis(12));
    }
    let until = Instant::now() + Duration::from_secs(11);
    while Instant::now() < until {
        echo(&server, "y");
        assert_eq!(other.hear()["data"]["result"], "success");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, reason) = idle.end();
    assert_eq!(code, 1013);
    assert!(reason.contains("too slowly"), "{reason}");
}

#[test]
fn a_token_is_needed_and_when_it_is_not_good_any_more_the_connection_ends() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let token = |change: &Value| issuer.token(change);
    let good = token(&json!({}));
    assert_eq!(Ear::at(&server, "/ws", &[]).err(), Some(401));
    let query = format!("/ws?access_token={good}&token={good}");
    assert_eq!(Ear::at(&server, &query, &[]).err(), Some(401), "a token in the URL");
    assert_eq!(Ear::at(&server, "/ws", &[("Sec-WebSocket-Protocol", "bearer, nonsense")]).err(), Some(401));
    let writer = format!("Bearer {}", token(&json!({"scope": "write"})));
    let refused = crate::access::routes::knock(
        &server,
        mainstay_server::Route::Ws,
        &[("Host", &server.address.to_string()), ("Authorization", &writer)],
    );
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    assert!(
        refused.status == 403 && challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"read\""),
        "{} {challenge}",
        refused.status
    );
    let mut browser = Ear::at(&server, "/ws", &[("Sec-WebSocket-Protocol", &format!("bearer, {good}"))]).unwrap();
    // A clock may be off by half a minute, so this one is good for a few seconds more.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let passing = format!("Bearer {}", token(&json!({"exp": now - 27})));
    let mut ear = Ear::at(&server, "/ws", &[("Authorization", &passing)]).unwrap();
    assert_eq!(ear.end().0, 1008);
    // Somebody else's calls are not heard; one's own are.
    let mut http = server.connect();
    for who in ["bob", "alice"] {
        let bearer = format!("Bearer {}", token(&json!({"sub": who})));
        let tool = if who == "bob" { "probe_whoami" } else { "probe_echo" };
        let call = json!({"name": tool, "arguments": if who == "bob" { json!({}) } else { json!({"text": "x"}) }});
        http.request("tools/call", call, &[("Authorization", &bearer)]).unwrap();
    }
    assert_eq!(browser.hear()["data"]["tool"], "probe_echo");
}

#[test]
fn as_many_listen_as_may_and_a_giant_message_ends_its_connection_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nwebsockets = 2\n");
    let (mut one, mut two) = (Ear::open(&server), Ear::open(&server));
    assert_eq!(Ear::at(&server, "/ws", &[]).err(), Some(503));
    assert_eq!(Ear::at(&server, "/ws", &[("Origin", "http://evil.example")]).err(), Some(403));
    let _ = two.0.send(Message::text("x".repeat(70_000)));
    while two.0.read().is_ok() {}
    echo(&server, "x");
    assert_eq!(one.hear()["data"]["tool"], "probe_echo");
    crate::testing::program::wait_until(|| Ear::at(&server, "/ws", &[]).is_ok());
}
