//! A team that can reach `/jsonrpc` and nothing else, and the tool names it reads there and elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::testing::program::{Http, Server};

fn rpc(http: &mut Http, path: &str, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut answer = http.rpc(path, &[], &message).message();
    assert!(answer["error"].is_null(), "{method} {params}: {answer}");
    answer["result"].take()
}

fn call(http: &mut Http, name: &str, arguments: &Value) -> Value {
    rpc(http, "/jsonrpc", "tools/call", &json!({"name": name, "arguments": arguments}))
}

#[test]
fn a_team_finishes_what_it_starts_and_finds_every_name_in_the_eight_descriptions() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let list = rpc(&mut http, "/jsonrpc", "tools/list", &json!({}));
    assert_eq!(list.as_array().unwrap().len(), 8, "{list}");
    let descriptions: String = list.as_array().unwrap().iter().map(|tool| tool["description"].to_string()).collect();
    let names: BTreeSet<&str> = descriptions.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for name in [
        "list_agents",
        "list_components",
        "list_conflicts",
        "resolve_conflict",
        "list_collaborations",
        "answer_collaboration",
        "list_decisions",
        "vote",
        "resolve_decision",
    ] {
        assert!(names.contains(name), "{name} is named nowhere: {descriptions}");
    }

    let proposal = json!({"category": "design", "question": "REST?", "proposed_by": "ann"});
    let decision = call(&mut http, "propose_decision", &proposal)["decision_id"].take();
    assert_eq!(call(&mut http, "list_decisions", &json!({"status": "open"}))["decisions"][0]["id"], decision);
    let voted = call(&mut http, "vote", &json!({"decision_id": decision, "agent": "bob", "choice": "yes"}));
    assert_eq!(voted["decision"]["tally"], json!({"yes": 1}));
    let closed = call(&mut http, "resolve_decision", &json!({"decision_id": decision, "outcome": "accepted"}));
    assert_eq!(closed["decision"]["status"], "accepted");

    let request = json!({"from_agent": "ann", "to_agent": "bob", "task": "review"});
    let request = call(&mut http, "request_collaboration", &request)["request_id"].take();
    let listed = call(&mut http, "list_collaborations", &json!({"to_agent": "bob", "status": "pending"}));
    assert_eq!(listed["collaborations"][0]["id"], request, "{listed}");
    let answer = json!({"id": request, "agent": "bob", "answer": "accept"});
    assert_eq!(call(&mut http, "answer_collaboration", &answer)["success"], true);

    for agent in ["ann", "bob"] {
        let activity = json!({"agent": agent, "activity": "x", "category": "task", "details": {"table": "users"}});
        call(&mut http, "log_activity", &activity);
    }
    assert_eq!(call(&mut http, "check_conflicts", &json!({"agents": ["ann", "bob"]}))["count"], 1);
    let conflict = call(&mut http, "list_conflicts", &json!({}))["conflicts"][0]["id"].take();
    assert_eq!(call(&mut http, "resolve_conflict", &json!({"id": conflict}))["conflict"]["resolved"], true);
    assert_eq!(call(&mut http, "list_agents", &json!({}))["agents"][0]["agent"], "ann");
    assert_eq!(call(&mut http, "list_activities", &json!({}))["activities"].as_array().unwrap().len(), 2);
    assert_eq!(call(&mut http, "list_components", &json!({}))["components"], json!([]));
}

/// Every description in an entry of a tool list, those of its schemas included.
fn descriptions(entry: &Value, found: &mut Vec<String>) {
    match entry {
        Value::Object(members) => {
            found.extend(members.get("description").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| descriptions(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_description_names_tools_in_the_spelling_of_the_dialect_that_reads_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let standard = http.request("tools/list", json!({}), &[]).unwrap().message()["result"]["tools"].clone();
    let mira = rpc(&mut http, "/rpc", "tools/list", &json!({"limit": 200}))["tools"].take();
    let agents = rpc(&mut http, "/jsonrpc", "tools/list", &json!({}));
    let lists = BTreeMap::from([("/mcp", standard), ("/rpc", mira), ("/jsonrpc", agents)]);
    let all_names = |path: &str| -> BTreeSet<String> {
        lists[path].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    // On /rpc every tool is listed, on /mcp fewer of the family solana; on /jsonrpc the unlisted ones are not, and have no
    // name that another dialect has.
    let (standard, mira) = (all_names("/mcp"), all_names("/rpc"));
    let others = |names: &BTreeSet<String>| names.iter().filter(|name| !name.starts_with("solana")).count();
    assert_eq!((others(&standard), standard.is_disjoint(&mira)), (others(&mira), true));
    for (path, foreign) in [("/mcp", &mira), ("/rpc", &standard), ("/jsonrpc", &(&standard | &mira))] {
        let mut texts = Vec::new();
        descriptions(&lists[path], &mut texts);
        for text in texts {
            for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"_/".contains(c)) {
                assert!(!foreign.contains(word), "{path}: {word:?} in {text:?}");
            }
        }
    }
}
