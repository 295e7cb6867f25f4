//! The examples of contract 001, run as published except for the port.

use std::path::Path;

use serde_json::{Value, json};

use crate::agents::fixtures::add_client;
use crate::testing::examples::{interpreter, run};
use crate::testing::program::{Server, command};

fn example(name: &str, server: &Server) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/agents/examples");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(text.contains("localhost:8099"), "{name}");
    text.replace("localhost:8099", &format!("localhost:{}", server.address.port()))
}

/// The answers that several requests in a row have printed.
fn answers(said: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(said)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn the_python_example_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let said = run(&interpreter("MAINSTAY_TEST_PYTHON", "python3"), "-c", &example("client.py", &server));
    assert!(
        said.contains("Session ID: ") && said.contains("Tool result: {") && said.contains("'success': True"),
        "{said}"
    );
}

#[test]
fn the_javascript_example_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let said = run(&interpreter("MAINSTAY_TEST_NODE", "node"), "-e", &example("client.js", &server));
    assert!(
        said.contains("Session ID: ") && said.contains("Tool result: {") && said.contains("success: true"),
        "{said}"
    );
}

/// What a listener does once it is connected: it logs something, and says what it is told of that.
const LISTENING: &str = "
ws.onmessage = message => { console.log(message.data); ws.close(); };
ws.onopen = () => fetch('http://localhost:8099/jsonrpc', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'log_activity',
    arguments: { agent: 'js_client', activity: 'Listening', category: 'task' } } })
});
";

#[test]
fn the_websocket_example_receives_events() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let listening = LISTENING.replace("localhost:8099", &format!("localhost:{}", server.address.port()));
    let text = example("websocket.js", &server) + &listening;
    let said = answers(&run(&interpreter("MAINSTAY_TEST_NODE", "node"), "-e", &text));
    assert_eq!((said.len(), &said[0]["event"]), (1, &json!("tool_executed")), "{said:?}");
    let reported = &said[0]["data"];
    assert_eq!((&reported["tool"], &reported["result"]), (&json!("log_activity"), &json!("success")));
    assert!(reported["timestamp"].is_string(), "{reported}");
}

#[test]
fn the_curl_examples_work() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = json!({"id": "test_client", "secret": "test_secret", "scope": "read write execute"});
    add_client(command(data.path(), &["client", "add", "example"]), &client).unwrap();
    let text = example("requests.sh", &server);
    // The last of them has a place for the token that the one before it gets.
    let (first, last) = text.split_once("# Use token in request").unwrap();
    let said = answers(&run("bash", "-ec", first));
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[0]["result"]["session_id"].is_string(), "{}", said[0]);
    assert_eq!(said[1]["result"].as_array().map(Vec::len), Some(8), "{}", said[1]);
    assert_eq!((&said[2]["result"]["success"], &said[2]["result"]["dry_run"]), (&json!(true), &json!(true)));
    let token = said[3]["access_token"].as_str().unwrap_or_else(|| panic!("{}", said[3]));
    let said = answers(&run("bash", "-ec", &last.replace("YOUR_TOKEN_HERE", token)));
    assert_eq!(said[0]["result"].as_array().map(Vec::len), Some(8), "{}", said[0]);
}

#[test]
fn the_idempotency_example_gets_the_first_result_twice() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let said = answers(&run("bash", "-ec", &example("idempotency.sh", &server)));
    assert_eq!(said[0]["result"]["success"], true, "{}", said[0]);
    assert_eq!((&said[1]["id"], &said[1]["result"]), (&json!(6), &said[0]["result"]));
}

#[test]
fn the_consent_example_allows_the_call_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let call = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "delete_all_data", "arguments": {}}, "id": 8});
    let mut http = server.connect();
    let mut ask = || http.rpc("/jsonrpc", &[], &call).message();
    let asked = ask();
    let id = asked["error"]["data"]["consent_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
    let said = answers(&run("bash", "-ec", &example("consent.sh", &server).replace("consent-uuid", id)));
    assert_eq!(said[0]["success"], true, "{}", said[0]);
    assert_eq!(ask()["result"]["success"], true);
    assert_eq!(ask()["error"]["code"], -32003, "an approval is used up");
}
