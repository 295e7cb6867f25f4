//! Tools, resources and prompts of the `agents` family on the standard endpoint `/mcp`.

use std::path::Path;

use serde_json::{Value, json};

use crate::testing::program::{Http, Server, StdioServer, workspace};

fn names(http: &mut Http, method: &str, list: &str, member: &str) -> Vec<String> {
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = http.request(method, params, &[]).unwrap().message();
        let items = page["result"][list].as_array().unwrap_or_else(|| panic!("{page}"));
        names.extend(items.iter().map(|item| item[member].as_str().unwrap().to_owned()));
        let Some(cursor) = page["result"]["nextCursor"].as_str() else { return names };
        params = json!({ "cursor": cursor });
    }
}

#[test]
fn agents_tools_are_listed_except_delete_all_data() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let tools = names(&mut http, "tools/list", "tools", "name");
    assert!(
        tools.contains(&"agents_log_activity".to_owned()) && tools.contains(&"agents_vote".to_owned()),
        "{tools:?}"
    );
    assert!(tools.iter().all(|name| !name.contains("delete_all")), "{tools:?}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"filter": {"tags": ["agents"]}, "limit": 200}});
    let mira = http.rpc("/rpc", &[], &list).message();
    let mira: Vec<&Value> = mira["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(
        mira.contains(&&json!("agents/log_activity")) && !mira.contains(&&json!("agents/delete_all_data")),
        "{mira:?}"
    );
    let resources = names(&mut http, "resources/list", "resources", "uri");
    for uri in ["file://README.md", "db://schema/complete", "api://swagger/spec", "config://agents/supervisor"] {
        assert!(resources.contains(&uri.to_owned()), "{resources:?}");
    }
    let prompts = names(&mut http, "prompts/list", "prompts", "name");
    assert!(["deploy_system", "run_tests", "analyze_performance"].iter().all(|name| prompts.iter().any(|p| p == name)));
}

#[test]
fn activities_survive_a_restart_and_are_deleted_only_with_consent() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let logged = server.call("log_activity", &json!({"agent": "ann", "activity": "Build", "category": "task"}));
    let value = &logged["result"]["structuredContent"];
    assert_eq!(
        (&value["success"], &value["message"]),
        (&json!(true), &json!("Activity logged successfully")),
        "{logged}"
    );
    server.kill();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let kept = http.call("agents_activities", &json!({"agent": "ann", "count": true}));
    assert_eq!(kept["result"]["structuredContent"]["total"], 1, "{kept}");
    let rehearsed = http.call("delete_all_data", &json!({"dry_run": true}));
    assert_eq!(rehearsed["result"]["structuredContent"]["dry_run"], true, "{rehearsed}");
    let asked = http.call("delete_all_data", &json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let kept = http.call("agents_activities", &json!({"count": true}));
    assert_eq!(kept["result"]["structuredContent"]["total"], 1, "{kept}");
}

#[test]
fn a_resource_outside_the_workspace_is_rejected_with_the_contracts_message() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let uri = "file://../../etc/passwd";
    let rejected = server.connect().request("resources/read", json!({ "uri": uri }), &[]).unwrap().message();
    let error = &rejected["error"];
    assert_eq!(error["message"], "Access denied: Path outside project directory", "{rejected}");
    assert_eq!(error["data"], json!({"uri": uri, "reason": "path_traversal_attempt"}));
}

#[test]
fn a_changed_file_is_announced_to_subscribers() {
    let mut stdio = StdioServer::initialized();
    let name = format!("watched-{}.md", std::process::id());
    let (file, uri) = (Path::new(workspace()).join(&name), format!("file://{name}"));
    std::fs::write(&file, "one").unwrap();
    let ask = |id: u64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}});
    let read = stdio.ask(&ask(2, "resources/read"));
    assert_eq!(read["result"]["contents"][0]["text"], "one", "{read}");
    let subscribed = stdio.ask(&ask(3, "resources/subscribe"));
    assert!(subscribed["result"].is_object(), "{subscribed}");
    std::fs::write(&file, "two, and longer").unwrap();
    let received = stdio.read().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(received["method"], "notifications/resources/updated", "{received}");
    assert_eq!(received["params"]["uri"], uri);
}
