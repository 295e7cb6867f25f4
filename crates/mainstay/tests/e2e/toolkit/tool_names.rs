//! Descriptions name only tools that a client of the dialect can call.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::testing::program::{StdioServer, run};

/// Every description in a value.
fn descriptions<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            all.extend(members.get("description").and_then(Value::as_str));
            members.values().for_each(|member| descriptions(member, all));
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_description_names_a_tool_of_another_endpoint() {
    let data = tempfile::tempdir().unwrap();
    let (_, tools, _) = run(data.path(), &["tools", "--json"]);
    let tools: Vec<Value> = serde_json::from_str(&tools).unwrap();
    let listed: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(listed.contains("code_functions"));
    let mut server = StdioServer::speaking("toolkit");
    server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}));
    let list = server.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}));
    let entries = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    let callable: BTreeSet<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    let mut texts = Vec::new();
    for entry in entries {
        descriptions(entry, &mut texts);
    }
    assert!(texts.len() > entries.len());
    for text in texts {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let foreign: Vec<&str> = words.filter(|word| listed.contains(word) && !callable.contains(word)).collect();
        assert_eq!(foreign, Vec::<&str>::new(), "{text}");
    }
}
