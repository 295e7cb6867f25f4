//! Contract 003: the Solana chain over `/api/mcp`, `/mcp` and stdio.

mod chain;
mod examples;
mod fixtures;
mod real_node;
mod sending;
mod stdio;
mod tokens;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::testing::fake_server::{fake_server, http};
use crate::testing::program::command;

/// A node with an account of 5 SOL.
fn node() -> String {
    fake_server(|request| {
        let message: Value = serde_json::from_str(request.split_once("\n\n")?.1.trim()).ok()?;
        let body = respond(&message).to_string();
        Some(http("200 OK", &body))
    })
}

fn respond(message: &Value) -> Value {
    const RICH: &str = "11111111111111111111111111111112";
    let id = &message["id"];
    let with_context = |value: Value| json!({"context": {"slot": 7, "apiVersion": "4.1.2"}, "value": value});
    let is_rich = message["params"][0] == RICH;
    let account = json!({"lamports": 5_000_000_000_u64, "owner": "11111111111111111111111111111111",
        "data": ["", "base64"], "executable": false, "rentEpoch": 18_446_744_073_709_551_615_u64, "space": 0});
    let result = match message["method"].as_str().unwrap_or_default() {
        "getBalance" => with_context(if is_rich { json!(5_000_000_000_u64) } else { json!(0) }),
        "getAccountInfo" => with_context(if is_rich { account } else { Value::Null }),
        "getBlock" => {
            let error = json!({"code": -32004, "message": "Block not available for slot 5"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
        other => {
            let error = json!({"code": -32601, "message": format!("Method not found: {other}")});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The program with this node. A call takes no longer than two seconds, also where the node's error may pass.
fn with_node(data: &Path, args: &[&str], node: &str) -> Command {
    let mut command = command(data, args);
    command.env("SOLANA_RPC_URL", node).env("MAINSTAY__SOLANA__TIMEOUT_SECONDS", "2");
    command
}
