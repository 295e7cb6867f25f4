//! What every response has, whichever route made it: the request's id, and a body that says what is wrong.

use serde_json::{Value, json};

use crate::access::routes::{AuthMode, Issuer, expected_status, request_route, with_auth};
use crate::consent::approval::get;
use crate::testing::program::{Reply, Server};
use mainstay_server::routes;

#[test]
fn every_response_has_the_id_of_its_request() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let own = server.address.to_string();
    for route in routes() {
        let path = route.path;
        let echoed = request_route(&server, path, &[("Host", &own), ("X-Request-ID", "own/1")]);
        assert_eq!(echoed.status, expected_status(path, AuthMode::None), "{path}");
        assert_eq!(echoed.header("x-request-id"), Some("own/1"), "{path}");
        let made = request_route(&server, path, &[("Host", &own)]);
        assert_eq!(made.header("x-request-id").map(str::len), Some(32), "{path}");
        let foreign = request_route(&server, path, &[("Host", "evil.example"), ("X-Request-ID", "own/2")]);
        assert_eq!((foreign.status, foreign.header("x-request-id")), (403, Some("own/2")), "{path}");
    }
    let mut http = server.connect();
    for (line, status) in [("GET /no/such", 404), ("PUT /health", 405), ("GET /api/mcp/none", 404)] {
        let reply = http.send(line, &[("Host", &own), ("X-Request-ID", "own/3")], b"").unwrap();
        assert_eq!((reply.status, reply.header("x-request-id")), (status, Some("own/3")), "{line}");
        assert_eq!(reply.header("allow").is_some(), status == 405, "{line}");
        assert!(reply.message()["error"].is_string() || reply.message()["error"].is_object(), "{line}: {}", reply.body);
    }
}

#[test]
fn the_id_of_a_request_is_the_one_of_its_call() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    // One that the fast path serves, and one for the SDK.
    for (tool, id) in [("probe_echo", "fast-1"), ("probe_sleep", "sdk-1")] {
        let args = if tool == "probe_echo" { json!({"text": "x"}) } else { json!({"ms": 1}) };
        let call = json!({"name": tool, "arguments": args});
        let reply = http.request("tools/call", call, &[("X-Request-ID", id)]).unwrap();
        assert_eq!(reply.header("x-request-id"), Some(id), "{}", reply.body);
        assert_eq!(reply.message()["result"]["_meta"]["io.mainstay/requestId"], id, "{}", reply.body);
    }
    let logs = get(&mut http, "/api/mcp/audit", &[]).message();
    let ids: Vec<&Value> = logs["logs"].as_array().unwrap().iter().map(|row| &row["request_id"]).collect();
    assert!(ids.contains(&&json!("fast-1")) && ids.contains(&&json!("sdk-1")), "{logs}");
}

#[test]
fn every_error_of_the_rest_api_has_one_format() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |scope: &str| format!("Bearer {}", issuer.token(&json!({ "scope": scope })));
    let (reader, writer) = (bearer("read consent"), bearer("write"));
    let host = server.address.to_string();
    let long = format!("{{\"decision\": \"denied\", \"reason\": \"{}\"}}", "x".repeat(20_000));
    let json = ("Content-Type", "application/json");
    let mut http = server.connect();
    let mut send = |line: &str, more: &[(&str, &str)], body: &str| -> Reply {
        let headers: Vec<_> = [("Host", host.as_str())].into_iter().chain(more.iter().copied()).collect();
        http.send(line, &headers, body.as_bytes()).unwrap()
    };
    let as_reader = ("Authorization", reader.as_str());
    for (line, more, body, status) in [
        ("GET /api/mcp/status", vec![], "", 401),
        ("GET /api/mcp/status", vec![("Authorization", "Bearer x")], "", 401),
        ("GET /api/mcp/status", vec![("Authorization", writer.as_str())], "", 403),
        ("GET /api/mcp/status", vec![as_reader, ("Origin", "http://evil.example")], "", 403),
        ("GET /api/mcp/status", vec![as_reader, ("X-Session-ID", "none")], "", 400),
        ("GET /api/mcp/audit?limit=0", vec![as_reader], "", 400),
        ("GET /api/mcp/none", vec![as_reader], "", 404),
        ("PUT /api/mcp/status", vec![as_reader], "", 405),
        ("GET /api/mcp/consent/none", vec![], "", 401),
        ("GET /api/mcp/consent/none", vec![as_reader], "", 404),
        ("POST /api/mcp/consent/none", vec![as_reader, json], "{\"decision\": \"denied\"}", 404),
        ("POST /api/mcp/consent/none", vec![as_reader, json], "{\"decision\": 1}", 400),
        ("POST /api/mcp/consent/none", vec![as_reader, json], long.as_str(), 413),
        ("POST /api/mcp/consent/none", vec![as_reader, ("Content-Type", "text/plain")], "x", 415),
    ] {
        let reply = send(line, &more, body);
        assert_eq!(reply.status, status, "{line}: {}", reply.body);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{line}");
        let error = &reply.message()["error"];
        assert!(error["code"].is_i64() && error["message"].is_string(), "{line} {status}: {}", reply.body);
        assert_eq!(reply.message().as_object().unwrap().len(), 1, "{line} {status}: {}", reply.body);
    }
}

#[test]
fn the_root_is_a_page_that_leads_to_the_documentation() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let page = get(&mut http, "/", &[]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for link in page.body.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(get(&mut http, &format!("/{link}"), &[]).status, 200, "{link}");
    }
    assert!(page.body.contains("href=\"docs\"") && page.body.contains("/mcp"), "{}", page.body);
}

#[test]
fn the_document_says_whether_this_server_needs_a_token() {
    let data = tempfile::tempdir().unwrap();
    let open = get(&mut Server::start(data.path(), &[]).connect(), "/openapi.json", &[]).message();
    assert_eq!(open["security"], json!([{}, {"bearer": []}]));
    let guarded = tempfile::tempdir().unwrap();
    let server = with_auth(guarded.path(), &Issuer::new("a"));
    assert_eq!(get(&mut server.connect(), "/openapi.json", &[]).message()["security"], json!([{"bearer": []}]));
}
