//! The dialect `toolkit` on stdio: its handshake, its framing, its limits and its end, with the probe tools.

mod framing;
mod handshake;
mod load;
mod shutdown;

use serde_json::{Value, json};

use crate::testing::program::{StdioServer, command};

fn ask(id: &Value, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of a probe as a method.
fn probe(id: u64, method: &str, params: &Value) -> String {
    ask(&json!(id), method, params).to_string()
}

fn initialize() -> Value {
    let client = json!({"name": "claude-code", "version": "1.0.0"});
    ask(&json!("1"), "initialize", &json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}))
}

/// A server in its first state.
fn start() -> StdioServer {
    StdioServer::speaking("toolkit")
}

/// A server that has been greeted.
fn greeted() -> StdioServer {
    greeted_with("")
}

/// The same, with this configuration.
fn greeted_with(configuration: &str) -> StdioServer {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, configuration).unwrap();
    let program = command(data.path(), &["stdio", "--dialect", "toolkit", "--config", file.to_str().unwrap()]);
    let mut server = StdioServer::from(program, data);
    assert_eq!(server.ask(&initialize())["result"]["protocolVersion"], "2024-11-05");
    server
}

/// The code of an error, and what it says.
fn error(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    let detail = error["data"]["detail"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (error["code"].as_i64().unwrap(), detail)
}
