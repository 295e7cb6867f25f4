//! Templates in the dialect: ours and those of users, by tools/call, as methods and as resources.

use serde_json::{Value, json};

use crate::testing::program::{StdioServer, command};

/// A server that has been greeted, with a template of the user's own beside ours.
fn server() -> StdioServer {
    let data = tempfile::tempdir().unwrap();
    let own = data.path().join("own/note");
    std::fs::create_dir_all(&own).unwrap();
    let manifest = json!({"name": "Mine", "description": "One of mine", "category": "note", "toolchain": "rust", "output": "NOTE"});
    std::fs::write(own.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(own.join("template.j2"), "<{{ project_name }}>\n").unwrap();
    let config = data.path().join("c.toml");
    let directory = data.path().join("own").display().to_string();
    std::fs::write(&config, format!("[templates]\ndirectories = [{directory:?}]\n")).unwrap();
    let args = ["stdio", "--dialect", "toolkit", "--config", config.to_str().unwrap()];
    let mut server = StdioServer::from(command(data.path(), &args), data);
    assert!(ask(&mut server, "initialize", &json!({}))["result"].is_object());
    server
}

fn ask(server: &mut StdioServer, method: &str, params: &Value) -> Value {
    server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

fn uris(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().unwrap_or_else(|| panic!("{entries}"));
    entries.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn templates_of_users_are_listed_beside_ours_as_resources_and_by_the_tool() {
    let mut server = server();
    let resources = uris(&ask(&mut server, "resources/list", &json!({}))["result"]["resources"]);
    let listed = uris(&ask(&mut server, "list_templates", &json!({}))["result"]["templates"]);
    assert_eq!((resources.len(), &resources), (10, &listed));
    assert!(resources.contains(&"template://note/rust/cli".to_owned()), "{resources:?}");
}

#[test]
fn every_template_is_read_and_generates_the_same_text_in_both_forms() {
    let mut server = server();
    for uri in uris(&ask(&mut server, "resources/list", &json!({}))["result"]["resources"]) {
        let read = ask(&mut server, "resources/read", &json!({ "uri": uri }));
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
        let mut parameters = json!({"project_name": "a<b>&\"c\""});
        let refused = ask(&mut server, "generate_template", &json!({"resource_uri": uri, "parameters": parameters}));
        if !uri.contains("note") && !uri.contains("gitignore") {
            assert_eq!(refused["error"]["code"], -32002, "{uri}: {refused}");
        }
        parameters["project_name"] = json!("demo");
        if uri == "template://readme/rust/cli" {
            parameters["description"] = json!("Does <this> & \"that\".");
        }
        if uri.starts_with("template://gitignore") {
            parameters = json!({});
        }
        let arguments = json!({"resource_uri": uri, "parameters": parameters});
        let method = ask(&mut server, "generate_template", &arguments);
        let content = method["result"]["content"].as_str().unwrap_or_else(|| panic!("{uri}: {method}")).to_owned();
        let called = ask(&mut server, "tools/call", &json!({"name": "generate_template", "arguments": arguments}));
        assert_eq!(called["result"]["content"][0]["text"], content, "{uri}");
        if uri.contains("readme/rust") {
            assert!(content.contains("Does <this> & \"that\"."), "nothing is escaped: {content}");
        }
    }
}

#[test]
fn a_parameter_of_nearly_a_megabyte_is_refused_in_few_bytes() {
    let mut server = server();
    let parameters = json!({"project_name": "x".repeat(1_000_000)});
    let arguments = json!({"resource_uri": "template://makefile/rust/cli", "parameters": parameters});
    let refused = ask(&mut server, "generate_template", &arguments);
    assert_eq!(refused["error"]["code"], -32002);
    let length = refused.to_string().len();
    assert!(length < 100_000, "{length} bytes");
}
