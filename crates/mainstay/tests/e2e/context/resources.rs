//! Documents of caches as resources on `/mcp`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::context::stdio::mcp;
use crate::testing::context_caches::Caches;
use crate::testing::program::{Http, Server, StdioServer, command, initialize};

const NAMES: [(&str, &str); 8] = [
    ("plain.md", "plain"),
    ("Deep/er/Upper.md", "upper"),
    ("with space.md", "space"),
    ("100%.md", "percent"),
    ("%41.md", "looks encoded"),
    ("Ünïcode 日本.md", "unicode"),
    ("a?b#c&d+e.md", "reserved"),
    ("quote\"<>.md", "quote"),
];

fn ask(http: &mut Http, method: &str, params: Value) -> Value {
    http.request(method, params, &[]).unwrap().message()
}

/// Every resource of caches, by its URI, with its name's last part.
fn listed(http: &mut Http) -> BTreeMap<String, Value> {
    let (mut all, mut cursor) = (BTreeMap::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = ask(http, "resources/list", params)["result"].take();
        let items = page["resources"].as_array().unwrap_or_else(|| panic!("{page}")).iter();
        let ours = items.filter(|item| item["uri"].as_str().unwrap().starts_with("context://"));
        all.extend(ours.map(|item| (item["uri"].as_str().unwrap().to_owned(), item.clone())));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return all;
        }
    }
}

/// The text and the media type, or the error.
fn read(http: &mut Http, uri: &str) -> Result<(String, String), Value> {
    let mut answer = ask(http, "resources/read", json!({"uri": uri}));
    let Some(contents) = answer["result"]["contents"].as_array() else { return Err(answer["error"].take()) };
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
    let text = |member: &str| contents[0][member].as_str().unwrap_or_default().to_owned();
    Ok((text("text"), text("mimeType")))
}

#[test]
fn every_listed_uri_reads_its_document() {
    let caches = Caches::with("guide", &NAMES);
    caches.write("my cache 100%", &[("a.md", "other cache")]);
    caches.build("my cache 100%");
    let everything = mcp(&caches);
    let mut http = everything.connect();
    let listed = listed(&mut http);
    assert_eq!(listed.len(), NAMES.len() + 1, "{:?}", listed.keys());
    let mut texts: Vec<String> = Vec::new();
    for (uri, item) in &listed {
        assert!(uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)), "{uri}");
        let (text, kind) = read(&mut http, uri).unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!((kind.as_str(), &item["mimeType"]), ("text/markdown", &json!("text/markdown")), "{uri}");
        texts.push(text);
    }
    texts.sort();
    let mut expected: Vec<&str> = NAMES.iter().map(|(_, text)| *text).chain(["other cache"]).collect();
    expected.sort_unstable();
    assert_eq!(texts, expected);
    for uri in ["context://guide/plain.md", "context://guide/deep/er/upper.md", "context://guide/100%25.md"] {
        assert!(listed.contains_key(uri), "{uri} is not among {:?}", listed.keys());
    }
}

#[test]
fn the_resource_template_describes_document_uris() {
    let caches = Caches::new();
    let everything = mcp(&caches);
    let answer = ask(&mut everything.connect(), "resources/templates/list", json!({}));
    let templates = answer["result"]["resourceTemplates"].as_array().unwrap();
    let ours = templates.iter().find(|template| template["uriTemplate"] == "context://{cache}/{+document}");
    assert_eq!(ours.unwrap_or_else(|| panic!("{answer}"))["mimeType"], "text/markdown");
}

#[test]
fn a_uri_of_no_document_is_not_found_and_nothing_else_is_read() {
    let caches = Caches::with("guide", &[("a.md", "alpha"), ("sub/b.md", "beta")]);
    std::fs::write(caches.path("canary.md"), "canary").unwrap();
    std::fs::write(caches.root().join("canary.md"), "canary").unwrap();
    let everything = mcp(&caches);
    let mut http = everything.connect();
    assert!(read(&mut http, "context://guide/a.md").is_ok());
    for path in [
        "guide/none.md",
        "none/a.md",
        "guide",
        "guide/",
        "guide/A.md",
        "guide/../guide/a.md",
        "guide/sub/../a.md",
        "guide/../../canary.md",
        "guide/..%2f..%2fcanary.md",
        "guide/%2e%2e/%2e%2e/canary.md",
        "../canary.md",
        "%2e%2e/canary.md",
        "./canary.md",
        "/canary.md",
        "/etc/passwd",
        "guide//etc/passwd",
        "guide/manifest.json",
        "guide/documents",
        "guide/a.md%00",
        "guide%00/a.md",
        "guide/%ff",
        "guide/%zz",
        "guide/a.md?x",
        "guide/a.md#x",
    ] {
        let error = read(&mut http, &format!("context://{path}")).unwrap_err();
        assert!(error["code"].is_i64(), "{path}: {error}");
        let reported = error.to_string();
        assert!(
            !reported.contains("canary.md is") && !reported.contains(caches.around().to_str().unwrap()),
            "{path}: {reported}"
        );
        assert!(!reported.contains("os error") && !reported.contains("No such file"), "{path}: {reported}");
    }
}

#[test]
fn a_tampered_document_is_not_served() {
    let caches = Caches::with("guide", &[("a.md", "alpha")]);
    let everything = mcp(&caches);
    let mut http = everything.connect();
    assert_eq!(read(&mut http, "context://guide/a.md").unwrap().0, "alpha");
    let folder = caches.root().join("guide/documents");
    let document = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let spoilt = std::fs::read_to_string(&document).unwrap().replace("alpha", "forged");
    std::fs::write(&document, spoilt).unwrap();
    let error = read(&mut http, "context://guide/a.md").unwrap_err();
    assert!(!error.to_string().contains("forged"), "{error}");
}

#[test]
fn a_document_changed_by_a_rebuild_is_announced_to_subscribers() {
    let caches = Caches::with("guide", &[("a.md", "alpha"), ("b.md", "beta")]);
    let (data, root) = (tempfile::tempdir().unwrap(), caches.root());
    let args = ["stdio", "--dialect", "mcp", "--cache-root", root.to_str().unwrap()];
    let mut stdio = StdioServer::from(command(data.path(), &args), data);
    assert!(stdio.ask(&initialize(0))["result"].is_object());
    stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let uri = |document: &str| format!("context://guide/{document}");
    for document in ["a.md", "b.md"] {
        for method in ["resources/read", "resources/subscribe"] {
            let params = json!({"uri": uri(document)});
            let answer = stdio.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}));
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
    // Whatever were told of the other document would be heard before the second change.
    for (document, text) in [("b.md", "two"), ("b.md", "three"), ("a.md", "four")] {
        caches.write("guide", &[(document, text)]);
        caches.build("guide");
        let received = stdio.read().unwrap();
        assert_eq!(received["method"], "notifications/resources/updated", "{received}");
        assert_eq!(received["params"]["uri"], uri(document));
    }
}

#[test]
fn without_a_root_the_caches_are_in_the_data_directory() {
    let caches = Caches::with("guide", &[("a.md", "alpha")]);
    let data = caches.path("data");
    std::fs::rename(caches.root(), data.join("caches")).unwrap();
    let everything = Server::start(&data, &[]);
    assert_eq!(read(&mut everything.connect(), "context://guide/a.md").unwrap().0, "alpha");
    let answer = everything.call("context_list_caches", &json!({}));
    assert_eq!(answer["result"]["structuredContent"]["caches"][0]["path"], "guide");
}
