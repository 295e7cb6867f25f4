//! The dialect on stdio, where a connection begins with a handshake.

use serde_json::{Value, json};

use crate::testing::program::StdioServer;

use super::{node, with_node};

fn program() -> StdioServer {
    let data = tempfile::tempdir().unwrap();
    let program = with_node(data.path(), &["stdio", "--dialect", "solana"], &node());
    StdioServer::from(program, data)
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn nothing_is_accepted_before_initialize() {
    let mut stdio = program();
    let balance = json!({"name": "getBalance", "arguments": {"pubkey": "11111111111111111111111111111112"}});
    let refused = stdio.ask(&request(1, "tools/call", &balance));
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
    assert_eq!(refused["error"]["data"]["protocolVersion"], "2024-11-05");
    assert_eq!(stdio.ask(&request(2, "ping", &json!({})))["result"], json!({}));
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    assert_eq!(stdio.ask(&request(3, "initialize", &hello))["result"]["protocolVersion"], "2024-11-05");
    stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answered = stdio.ask(&request(4, "tools/call", &balance));
    let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
    assert!(text.contains(r#""sol":"5.000000000""#), "{text}");
}

#[test]
fn all_tools_of_the_chain_are_listed_and_nothing_else() {
    let mut stdio = program();
    stdio.ask(&request(1, "initialize", &json!({"protocolVersion": "2024-11-05"})));
    let listed = stdio.ask(&request(2, "tools/list", &json!({})));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["getBalance", "getClusterNodes", "solanaRpc", "solanaNetworks", "describeTransaction", "buildTransfer"]
    {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    for name in ["files_read", "files/read", "getRecentBlockhash", "solana_getBalance"] {
        assert!(!names.contains(&name), "{name}");
    }
}
