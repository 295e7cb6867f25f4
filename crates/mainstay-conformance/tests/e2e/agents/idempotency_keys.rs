//! Idempotency keys as docs/protocol.md promises them, on `/jsonrpc` and on `/mcp`.

use serde_json::{Value, json};

use crate::agents::rules::{ask, log, open};
use crate::testing::program::{Http, Server, workspace};

fn call(http: &mut Http, headers: &[(&str, &str)], name: &str, arguments: &Value) -> Value {
    ask(http, headers, "tools/call", &json!({"name": name, "arguments": arguments})).message()
}

fn register(owner: &str, status: &str) -> Value {
    json!({"name": "auth", "owner": owner, "status": status})
}

#[test]
fn a_reused_idempotency_key_returns_the_first_result_here_and_a_conflict_on_mcp() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let key = [("Idempotency-Key", "k-1")];
    let first = ask(&mut http, &key, "tools/call", &log("one")).message()["result"].clone();
    assert_eq!(first["success"], true, "{first}");
    assert_eq!(ask(&mut http, &key, "tools/call", &log("two")).message()["result"], first);
    let other = json!({"name": "heartbeat", "arguments": {"agent": "tester"}});
    assert_eq!(ask(&mut http, &key, "tools/call", &other).message()["result"], first, "whatever it is used for now");
    for (name, arguments) in [
        ("log_activity", json!({"agent": "tester", "activity": "x", "category": "task", "dry_run": true})),
        ("log_activity", json!({"agent": 1})),
        ("find_component_owner", json!({"component": "none"})),
    ] {
        let answer = ask(&mut http, &key, "tools/call", &json!({"name": name, "arguments": arguments})).message();
        assert_eq!(answer["result"], first, "{name} {arguments}");
    }
    let standard = http.request("tools/call", log("three"), &key).unwrap().message();
    assert_eq!(standard["result"]["_meta"]["io.mainstay/error"]["kind"], "conflict", "{standard}");
    let twice = ask(&mut http, &[("Idempotency-Key", "a"), ("Idempotency-Key", "b")], "tools/call", &log("four"));
    assert_eq!((twice.status, &twice.message()["error"]["code"]), (400, &json!(-32602)));
}

#[test]
fn the_same_key_in_two_sessions_without_tokens_is_two_keys() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let sessions = [open(&mut http, &[]), open(&mut http, &[])];
    let mut made: Vec<Value> = Vec::new();
    for session in [Some(&sessions[0]), Some(&sessions[1]), None] {
        let mut headers = vec![("Idempotency-Key", "1")];
        headers.extend(session.map(|session| ("X-Session-ID", session.as_str())));
        let first = ask(&mut http, &headers, "tools/call", &log("mine")).message()["result"].clone();
        assert!(first["id"].is_number() && !made.contains(&first), "{session:?}: {first}");
        assert_eq!(ask(&mut http, &headers, "tools/call", &log("again")).message()["result"], first);
        made.push(first);
    }
}

#[test]
fn a_conflict_that_was_resolved_is_not_kept_under_the_key() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let key = [("Idempotency-Key", "bobs")];
    call(&mut http, &[], "register_component", &register("ann", "active"));
    for _ in 0..2 {
        let refused = call(&mut http, &key, "register_component", &register("bob", "active"));
        assert_eq!(refused["error"]["code"], -32000, "{refused}");
    }
    call(&mut http, &[], "register_component", &register("ann", "inactive"));
    let done = call(&mut http, &key, "register_component", &register("bob", "active"));
    assert_eq!(done["result"]["success"], true, "{done}");
    // From here on the key has its result, whatever happens to the component.
    call(&mut http, &[], "register_component", &register("bob", "deprecated"));
    call(&mut http, &[], "register_component", &register("ann", "active"));
    assert_eq!(call(&mut http, &key, "register_component", &register("bob", "active"))["result"], done["result"]);

    // The same on the standard endpoint, with a file that is not there at first.
    let path = data.path().file_name().unwrap().to_str().unwrap();
    let file = std::path::Path::new(workspace()).join(path);
    let arguments = json!({"path": path, "content": "x", "create": false, "overwrite": true});
    let mut write = || {
        let call = json!({"name": "files_write", "arguments": arguments});
        http.request("tools/call", call, &[("Idempotency-Key", "w")]).unwrap().message()["result"].clone()
    };
    assert_eq!(write()["_meta"]["io.mainstay/error"]["kind"], "not_found");
    std::fs::write(&file, "y").unwrap();
    let done = write();
    assert_eq!(done["isError"], false, "{done}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(write()["structuredContent"], done["structuredContent"], "the success is kept");
}

#[test]
fn a_key_is_for_tools_that_change_something_and_everything_else_ignores_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let key = [("Idempotency-Key", "k")];
    // Neither a reader, nor a dry run, nor a prompt, nor a name that does not exist takes the key.
    let nobody = call(&mut http, &key, "find_component_owner", &json!({"component": "auth"}));
    assert_eq!(nobody["result"]["found"], false, "{nobody}");
    let dry = json!({"agent": "a", "activity": "x", "category": "task", "dry_run": true});
    assert_eq!(call(&mut http, &key, "log_activity", &dry)["result"]["dry_run"], true);
    let prompt = json!({"name": "deploy_system", "arguments": {"environment": "test"}});
    let rendered = ask(&mut http, &key, "prompts/execute", &prompt).message()["result"]["result"].clone();
    assert!(rendered.is_string(), "{rendered}");
    assert_eq!(call(&mut http, &key, "no_such", &json!({}))["error"]["code"], -32602);
    let first = ask(&mut http, &key, "tools/call", &log("first")).message()["result"].clone();
    assert!(first["id"].is_number(), "{first}");
    // Once it is taken, every call of a tool gets its result, and nothing else does.
    let reader = call(&mut http, &key, "find_component_owner", &json!({"component": "auth"}));
    assert_eq!(reader["result"], first);
    assert_eq!(ask(&mut http, &key, "prompts/execute", &prompt).message()["result"]["result"], rendered);
    let read = ask(&mut http, &key, "resources/read", &json!({"uri": "db://schema/complete"})).message();
    assert_eq!(read["result"]["uri"], "db://schema/complete", "{read}");
    assert!(ask(&mut http, &key, "tools/list", &json!({})).message()["result"].is_array());
    assert_eq!(call(&mut http, &key, "no_such", &json!({}))["error"]["code"], -32602);
    // On /mcp a reader with a used key is no conflict: it runs.
    let echo = json!({"name": "server_echo", "arguments": {"text": "x"}});
    let standard = http.request("tools/call", echo, &key).unwrap().message();
    assert_eq!(standard["result"]["isError"], false, "{standard}");
}
