//! Rules of the dialect `agents` that take more than one exchange: sessions, limits, scopes, the audit.

use serde_json::{Value, json};

use crate::access::routes::{Issuer, with_auth};
use crate::testing::program::{Http, Reply, Server};

pub(crate) fn ask(http: &mut Http, headers: &[(&str, &str)], method: &str, params: &Value) -> Reply {
    http.rpc("/jsonrpc", headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

pub(crate) fn log(activity: &str) -> Value {
    json!({"name": "log_activity", "arguments": {"agent": "tester", "activity": activity, "category": "task"}})
}

pub(crate) fn get(http: &mut Http, headers: &[(&str, &str)], path: &str) -> Reply {
    let host = http.host();
    let mut all = vec![("Host", host.as_str())];
    all.extend(headers);
    http.send(&format!("GET {path}"), &all, b"").unwrap()
}

pub(crate) fn open(http: &mut Http, headers: &[(&str, &str)]) -> String {
    let reply = ask(http, headers, "initialize", &json!({"clientInfo": {"name": "test", "version": "1"}}));
    let session =
        reply.message()["result"]["session_id"].as_str().unwrap_or_else(|| panic!("{}", reply.body)).to_owned();
    assert_eq!(reply.header("x-session-id"), Some(session.as_str()));
    session
}

pub(crate) fn limited(data: &std::path::Path, calls: u32) -> Server {
    let file = data.join("c.toml");
    std::fs::write(&file, format!("[engine.rate.per_dialect.agents]\ncalls = {calls}\nseconds = 3600\n")).unwrap();
    Server::start(data, &["--config", file.to_str().unwrap()])
}

/// The newest rows first: what was done, to what, and what came of it.
pub(crate) fn audit(http: &mut Http, headers: &[(&str, &str)], query: &str) -> Vec<[String; 3]> {
    let shown = get(http, headers, &format!("/api/mcp/audit{query}")).message();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = shown["logs"].as_array().unwrap_or_else(|| panic!("{shown}"));
    rows.iter().map(|row| ["operation", "resource", "result"].map(|name| text(row, name))).collect()
}

#[test]
fn each_session_has_the_whole_limit_and_opening_one_counts_against_the_address() {
    let data = tempfile::tempdir().unwrap();
    let server = limited(data.path(), 3);
    let mut http = server.connect();
    let sessions = [open(&mut http, &[]), open(&mut http, &[])];
    let mut list = |session: &str| ask(&mut http, &[("X-Session-ID", session)], "tools/list", &json!({})).status;
    for session in &sessions {
        assert_eq!([list(session), list(session), list(session), list(session)], [200, 200, 200, 429], "{session}");
    }
    // A session has no sessions of its own to give: neither one that is used up nor a fresh one opens more than the
    // address may.
    let last = ask(&mut http, &[("X-Session-ID", &sessions[0])], "initialize", &json!({}));
    let fresh = last.header("x-session-id").unwrap().to_owned();
    for headers in [vec![], vec![("X-Session-ID", sessions[0].as_str())], vec![("X-Session-ID", fresh.as_str())]] {
        assert_eq!(ask(&mut http, &headers, "initialize", &json!({})).status, 429, "{headers:?}");
    }
    assert_eq!(ask(&mut http, &[("X-Session-ID", &fresh)], "tools/list", &json!({})).status, 200);
}

#[test]
fn agents_that_used_up_their_limit_do_not_lock_out_the_person_who_decides() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    let limits = "[engine.rate.per_client]\ncalls = 3\nseconds = 3600\n[engine.rate.per_dialect.agents]\ncalls = 3\nseconds = 3600\n[engine.rate.per_dialect.consent_status]\ncalls = 1\nseconds = 3600\n";
    std::fs::write(&file, limits).unwrap();
    let server = Server::start(data.path(), &["--config", file.to_str().unwrap()]);
    let mut http = server.connect();
    let call = json!({"name": "delete_all_data", "arguments": {}});
    let needed = ask(&mut http, &[], "tools/call", &call).message();
    let url = needed["error"]["data"]["consent_url"].as_str().unwrap_or_else(|| panic!("{needed}")).to_owned();
    while ask(&mut http, &[], "tools/list", &json!({})).status == 200 {}
    // Nor do programs that poll for the decision; they are told when to come again.
    assert_eq!(get(&mut http, &[], &url).status, 200);
    let polled = get(&mut http, &[], &url);
    assert_eq!(polled.status, 429, "{}", polled.body);
    assert!(polled.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(get(&mut http, &[("Accept", "text/html")], &url).status, 200);
    let decided = http.rpc(&url, &[], &json!({"decision": "denied", "reason": "not today"}));
    assert_eq!(decided.status, 200, "{}", decided.body);
}

#[test]
fn a_denied_call_carries_the_reason_and_a_page_that_is_asked_for_too_often_says_when_to_retry() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[engine.rate.per_dialect.consent]\ncalls = 1\nseconds = 3600\n").unwrap();
    let server = Server::start(data.path(), &["--config", file.to_str().unwrap()]);
    let mut http = server.connect();
    let call = json!({"name": "delete_all_data", "arguments": {}});
    let needed = ask(&mut http, &[], "tools/call", &call).message()["error"]["data"].take();
    let url = needed["consent_url"].as_str().unwrap().to_owned();
    http.rpc(&url, &[], &json!({"decision": "denied", "reason": "the audit is on Monday"}));
    let denied = ask(&mut http, &[], "tools/call", &call);
    let error = denied.message()["error"].take();
    assert_eq!((denied.status, &error["code"]), (403, &json!(-32004)), "{error}");
    assert!(error["message"].as_str().unwrap().contains("the audit is on Monday"), "{error}");
    let data = json!({"consent_id": needed["consent_id"], "reason": "the audit is on Monday",
        "expires_at": needed["expires_at"]});
    assert_eq!(error["data"], data);
    let page = get(&mut http, &[("Accept", "text/html")], &url);
    assert!(page.status == 429 && page.header("retry-after").is_some(), "{}", page.status);
    let decision = http.rpc(&url, &[], &json!({"decision": "approved"}));
    assert!(decision.status == 429 && decision.header("retry-after").is_some(), "{}", decision.status);
}

#[test]
fn a_rate_limit_is_not_reset_by_a_forged_header_or_another_route() {
    let data = tempfile::tempdir().unwrap();
    let server = limited(data.path(), 5);
    let mut http = server.connect();
    open(&mut http, &[]);
    open(&mut http, &[]);
    assert_eq!(get(&mut http, &[], "/api/mcp/security").status, 200);
    assert_eq!(ask(&mut http, &[], "no/such", &json!({})).status, 400);
    assert_eq!(ask(&mut http, &[], "tools/call", &json!({"name": "no_such"})).status, 400);
    for headers in [
        vec![],
        vec![("X-Session-ID", "0123456789abcdef0123456789abcdef")],
        vec![("X-Client-IP", "10.1.2.3"), ("True-Client-IP", "10.1.2.3"), ("X-User-ID", "else")],
    ] {
        let mut http = server.connect();
        for method in ["initialize", "tools/list", "no/such"] {
            let reply = ask(&mut http, &headers, method, &json!({}));
            assert_eq!(reply.status, 429, "{method} {headers:?}");
            let answer = reply.message();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32002)));
            assert_eq!(reply.header("retry-after").unwrap(), answer["error"]["data"]["retry_after"].to_string());
            assert_eq!(reply.header("x-ratelimit-reset").unwrap(), answer["error"]["data"]["reset"].to_string());
        }
        assert_eq!(get(&mut http, &headers, "/api/mcp/status").status, 429);
        assert_eq!(get(&mut http, &headers, "/api/mcp/health").status, 200, "a load balancer is not limited");
    }
    assert_eq!(
        server.call("server_echo", &json!({"text": "x"}))["result"]["isError"],
        false,
        "others have their own limits"
    );
}

#[test]
fn another_principals_session_is_unknown() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |who: &str| format!("Bearer {}", issuer.token(&json!({"sub": who})));
    let (alice, bob) = (bearer("alice"), bearer("bob"));
    let mut http = server.connect();
    let session = open(&mut http, &[("Authorization", &alice)]);
    assert!(session.len() >= 32, "{session}");
    let mut with = |who: &str, session: &str| {
        let headers = [("Authorization", who), ("X-Session-ID", session)];
        let listed = ask(&mut http, &headers, "tools/list", &json!({}));
        let shown = get(&mut http, &headers, "/api/mcp/capabilities");
        (listed.status, listed.body, shown.status)
    };
    let (listed, _, shown) = with(&alice, &session);
    assert_eq!((listed, shown), (200, 200));
    let stolen = with(&bob, &session);
    assert_eq!((stolen.0, stolen.2), (400, 400), "{}", stolen.1);
    assert_eq!(stolen, with(&bob, "0123456789abcdef0123456789abcdef"));
    // A session of the standard protocol is none of this dialect.
    let opened =
        http.post(&[("Authorization", &alice)], crate::testing::program::initialize(1).to_string().as_bytes()).unwrap();
    let standard = opened.header("mcp-session-id").unwrap().to_owned();
    let headers = [("Authorization", alice.as_str()), ("X-Session-ID", &standard)];
    assert_eq!(ask(&mut http, &headers, "tools/list", &json!({})).status, 400);
}

#[test]
fn scopes_decide_what_is_listed_and_called_and_a_missing_scope_is_named() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |scope: &str| format!("Bearer {}", issuer.token(&json!({"scope": scope})));
    let (reader, writer) = (bearer("read"), bearer("write"));
    let mut http = server.connect();
    let listed = ask(&mut http, &[("Authorization", &reader)], "tools/list", &json!({})).message();
    let names: Vec<&str> =
        listed["result"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"find_component_owner") && !names.contains(&"log_activity"), "{names:?}");
    let rejected = ask(&mut http, &[("Authorization", &reader)], "tools/call", &log("x"));
    assert_eq!((rejected.status, &rejected.message()["error"]["code"]), (403, &json!(-32004)), "{}", rejected.body);
    let challenge = rejected.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"write\""), "{challenge}");
    for path in ["status", "resources", "prompts", "capabilities", "security", "audit"] {
        let rejected = get(&mut http, &[("Authorization", &writer)], &format!("/api/mcp/{path}"));
        assert_eq!((rejected.status, &rejected.message()["error"]["code"]), (403, &json!(-32004)), "{path}");
    }
    let nobody = ask(&mut http, &[], "tools/list", &json!({}));
    assert_eq!(
        (nobody.status, &nobody.message()["error"]["code"], &nobody.message()["id"]),
        (401, &json!(-32001), &json!(1))
    );
    assert!(nobody.header("www-authenticate").is_some());
}

#[test]
fn every_operation_is_audited_once_and_visible_to_its_principal_only() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |who: &str, scope: &str| format!("Bearer {}", issuer.token(&json!({"sub": who, "scope": scope})));
    let (alice, bob, admin) = (bearer("alice", "read write"), bearer("bob", "read"), bearer("root", "admin"));
    let mut http = server.connect();
    let as_alice = [("Authorization", alice.as_str())];
    for (method, params) in [
        ("initialize", json!({})),
        ("tools/list", json!({})),
        ("tools/call", log("x")),
        ("tools/call", json!({"name": "no_such"})),
        ("resources/read", json!({"uri": "db://schema/complete"})),
        ("resources/read", json!({"uri": "nothing://here"})),
        ("prompts/execute", json!({"name": "deploy_system", "arguments": {"environment": "test"}})),
        ("no/such", json!({})),
    ] {
        ask(&mut http, &as_alice, method, &params);
    }
    let row = |operation: &str, resource: &str, result: &str| [operation, resource, result].map(str::to_owned);
    let expected = [
        row("jsonrpc", "no/such", "unknown"),
        row("prompts/execute", "deploy_system", "success"),
        row("resources/read", "nothing://here", "not_found"),
        row("resources/read", "db://schema/complete", "success"),
        row("tools/call", "no_such", "unknown"),
        row("tools/call", "log_activity", "success"),
        row("tools/list", "", "success"),
        row("initialize", "", "success"),
    ];
    assert_eq!(audit(&mut http, &as_alice, ""), expected);
    assert_eq!(
        audit(&mut http, &[("Authorization", &bob)], ""),
        [] as [[String; 3]; 0],
        "other people's rows are not shown"
    );
    let everything = audit(&mut http, &[("Authorization", &admin)], "?limit=1000");
    assert!(expected.iter().all(|row| everything.contains(row)));
    assert!(everything.contains(&row("api/mcp/audit", "", "success")), "looking at the audit leaves a row, too");
    for limit in ["0", "1001", "-1", "x"] {
        assert_eq!(get(&mut http, &as_alice, &format!("/api/mcp/audit?limit={limit}")).status, 400, "{limit}");
    }
}

#[test]
fn only_the_contracts_tool_names_exist_here() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    for name in ["server_echo", "server/echo", "agents_log_activity", "agents/log_activity", "probe_echo"] {
        let answer = ask(&mut http, &[], "tools/call", &json!({"name": name, "arguments": {"text": "x"}})).message();
        assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
    }
    let answer = ask(&mut http, &[], "prompts/execute", &json!({"name": "test_simple_prompt"})).message();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn the_listed_schema_of_log_activity_is_a_subset_of_the_accepted_one() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let listed = http.request("tools/list", json!({}), &[]).unwrap().message();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let own = &tools.iter().find(|tool| tool["name"] == "agents_log_activity").unwrap()["inputSchema"];
    let shown = ask(&mut http, &[], "tools/list", &json!({})).message();
    let shown = shown["result"].as_array().unwrap().iter().find(|tool| tool["name"] == "log_activity").unwrap();
    assert_eq!(own["required"], shown["inputSchema"]["required"]);
    for (name, schema) in shown["inputSchema"]["properties"].as_object().unwrap() {
        for (keyword, value) in schema.as_object().unwrap() {
            assert_eq!(&own["properties"][name][keyword], value, "{name} {keyword}");
        }
    }
}

#[test]
fn the_api_page_loads_no_external_resources_and_runs_no_inline_scripts() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let page = get(&mut http, &[], "/docs");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.body.contains("://") && !page.body.contains("style=") && !page.body.contains(" on"), "{}", page.body);
    for piece in page.body.split("<script").skip(1) {
        assert!(piece.starts_with(" src=") && piece.contains("></script>"), "{piece}");
    }
    for (path, kind) in [("/docs/viewer.js", "text/javascript"), ("/docs/viewer.css", "text/css")] {
        let asset = get(&mut http, &[], path);
        assert!(page.body.contains(path.trim_start_matches('/')), "{path}");
        assert!(asset.status == 200 && asset.header("content-type").unwrap().starts_with(kind), "{path}");
        assert!(!asset.body.contains("innerHTML") && !asset.body.contains("http"), "{path}");
    }
    let document = get(&mut http, &[], "/openapi.json").message();
    assert!(document["paths"]["/jsonrpc"]["post"]["summary"].is_string());
}
