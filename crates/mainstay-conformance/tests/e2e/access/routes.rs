//! Host, origin and token checks on every route of the route table.

use std::path::{Path, PathBuf};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use mainstay_server::{Access, routes};
use serde_json::{Value, json};

use crate::testing::program::{Reply, Server, run, stateless_request};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "https://mainstay.example/mcp";

/// Sends the example request of a route, as the route table has it.
pub(crate) fn request_route(server: &Server, path: &str, headers: &[(&str, &str)]) -> Reply {
    let route = routes().into_iter().find(|route| route.path == path).unwrap();
    let operation = &route.operations[0];
    let request = format!("{} {}", operation.method, path.replace("{id}", "none"));
    let (media_type, body) = operation.example.unwrap_or_default();
    let body = if path == MCP { stateless_request(1, "tools/list", json!({})).to_string() } else { body.to_owned() };
    let mut all: Vec<_> = operation.example.map(|_| ("Content-Type", media_type)).into_iter().collect();
    match path {
        MCP => all.extend(MCP_HEADERS),
        "/ws" => all.extend(HANDSHAKE),
        _ => {}
    }
    all.extend(headers);
    server.connect().send(&request, &all, body.as_bytes()).unwrap()
}

pub(crate) const MCP: &str = "/mcp";

const MCP_HEADERS: [(&str, &str); 3] = [
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/list"),
];

const HANDSHAKE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Whose tokens are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMode {
    None,
    Own,
    AnotherIssuers,
}

/// The status of the example request from a client that may use the route.
pub(crate) fn expected_status(path: &str, needs: AuthMode) -> u16 {
    let external = needs == AuthMode::AnotherIssuers;
    match path {
        "/ws" => 101,
        "/api/mcp/consent/{id}" => 404,
        // The example has no client credentials.
        "/oauth/token" | "/oauth/revoke" if !external => 401,
        "/oauth/token" | "/oauth/revoke" | "/oauth/jwks" | "/.well-known/oauth-authorization-server" if external => 404,
        // Nothing is protected.
        path if path.starts_with("/.well-known/oauth-protected-resource") && needs == AuthMode::None => 404,
        _ => 200,
    }
}

#[test]
fn a_foreign_host_or_origin_is_rejected_on_every_route() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (own, port) = (server.address.to_string(), server.address.port());
    let own_origin = format!("http://{own}");
    let localhost = format!("localhost:{port}");
    for route in routes() {
        let path = route.path;
        for headers in [vec![("Host", own.as_str())], vec![("Host", &localhost), ("Origin", &own_origin)]] {
            let status = request_route(&server, path, &headers).status;
            assert_eq!(status, expected_status(path, AuthMode::None), "{path} {headers:?}");
        }
        let hosts = [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            format!("0.0.0.0:{port}"),
            format!("localhost.:{port}"),
            "localhost:1".to_owned(),
            "localhost".to_owned(),
        ];
        for host in &hosts {
            assert_eq!(request_route(&server, path, &[("Host", host)]).status, 403, "{path} Host {host}");
        }
        let origins = [
            "null".to_owned(),
            "http://evil.example".to_owned(),
            format!("https://{own}"),
            format!("http://localhost.:{port}"),
            "http://localhost:1".to_owned(),
            format!("http://0.0.0.0:{port}"),
        ];
        for origin in &origins {
            assert_eq!(
                request_route(&server, path, &[("Host", &own), ("Origin", origin)]).status,
                403,
                "{path} Origin {origin}"
            );
        }
        assert!(
            matches!(request_route(&server, path, &[("Host", &own), ("Host", &own)]).status, 400 | 403),
            "{path} two Hosts"
        );
        assert_eq!(
            request_route(&server, path, &[("Host", &own), ("Origin", &own_origin), ("Origin", &own_origin)]).status,
            403,
            "{path} two Origins"
        );
    }
}

pub(crate) struct Issuer {
    key: EncodingKey,
    jwk: Value,
}

impl Issuer {
    pub(crate) fn new(id: &str) -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let x = BASE64URL.encode(pair.public_key().as_ref());
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "alg": "EdDSA", "use": "sig", "x": x});
        Self { key: EncodingKey::from_ed_der(pkcs8.as_ref()), jwk }
    }

    pub(crate) fn token(&self, change: &Value) -> String {
        let mut claims =
            json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "scope": "read write", "exp": 4_000_000_000_u64});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        self.sign(Header::new(Algorithm::EdDSA), &claims)
    }

    fn sign(&self, header: Header, claims: &Value) -> String {
        let header = Header { kid: Some(self.jwk["kid"].as_str().unwrap().to_owned()), ..header };
        encode(&header, claims, &self.key).unwrap()
    }
}

pub(crate) fn with_auth(data: &Path, issuer: &Issuer) -> Server {
    Server::start(data, &["--config", auth_config(data, issuer, "").to_str().unwrap()])
}

/// A configuration with an issuer, and with more before that.
pub(crate) fn auth_config(data: &Path, issuer: &Issuer, more: &str) -> PathBuf {
    std::fs::write(data.join("keys.json"), json!({"keys": [issuer.jwk]}).to_string()).unwrap();
    let config = format!(
        "{more}[server.auth]\nissuer = {ISSUER:?}\naudience = {AUDIENCE:?}\nkeys = {:?}\n",
        data.join("keys.json").to_str().unwrap()
    );
    let file = data.join("config.toml");
    std::fs::write(&file, config).unwrap();
    file
}

#[test]
fn every_route_rejects_every_invalid_token_unless_it_is_public() {
    let data = tempfile::tempdir().unwrap();
    let (issuer, stranger) = (Issuer::new("a"), Issuer::new("a"));
    let server = with_auth(data.path(), &issuer);
    let none = format!(
        "{}.{}.",
        BASE64URL.encode(r#"{"alg":"none","typ":"JWT"}"#),
        issuer.token(&json!({})).split('.').nth(1).unwrap()
    );
    let shared = {
        let key = EncodingKey::from_secret(issuer.jwk["x"].as_str().unwrap().as_bytes());
        let claims =
            json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "scope": "admin", "exp": 4_000_000_000_u64});
        encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
    };
    let critical = {
        let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": 4_000_000_000_u64});
        issuer.sign(Header { crit: Some(vec!["b64".into()]), ..Header::new(Algorithm::EdDSA) }, &claims)
    };
    let good = issuer.token(&json!({}));
    let bad = [
        ("no token", None),
        ("garbage", Some("Bearer garbage".to_owned())),
        ("another scheme", Some(format!("Basic {good}"))),
        ("alg none", Some(format!("Bearer {none}"))),
        ("a shared secret made of the public key", Some(format!("Bearer {shared}"))),
        ("wrong audience", Some(format!("Bearer {}", issuer.token(&json!({"aud": "https://other.example"}))))),
        ("no audience", Some(format!("Bearer {}", issuer.token(&json!({"aud": null}))))),
        ("expired", Some(format!("Bearer {}", issuer.token(&json!({"exp": 1_000_000}))))),
        ("never expires", Some(format!("Bearer {}", issuer.token(&json!({"exp": null}))))),
        ("not yet valid", Some(format!("Bearer {}", issuer.token(&json!({"nbf": 3_900_000_000_u64}))))),
        ("another issuer", Some(format!("Bearer {}", issuer.token(&json!({"iss": "https://evil.example"}))))),
        ("nobody", Some(format!("Bearer {}", issuer.token(&json!({"sub": null}))))),
        ("an empty subject", Some(format!("Bearer {}", issuer.token(&json!({"sub": ""}))))),
        ("a subject of spaces", Some(format!("Bearer {}", issuer.token(&json!({"sub": "  "}))))),
        ("a subject with a NUL", Some(format!("Bearer {}", issuer.token(&json!({"sub": "a\u{0}b"}))))),
        ("an endless subject", Some(format!("Bearer {}", issuer.token(&json!({"sub": "a".repeat(256)}))))),
        ("a list of issuers", Some(format!("Bearer {}", issuer.token(&json!({"iss": [ISSUER]}))))),
        ("a critical extension", Some(format!("Bearer {critical}"))),
        ("another's signature", Some(format!("Bearer {}", stranger.token(&json!({}))))),
    ];
    let own = server.address.to_string();
    for route in routes() {
        let path = route.path;
        for (what, token) in &bad {
            let mut headers = vec![("Host", own.as_str())];
            headers.extend(token.as_deref().map(|token| ("Authorization", token)));
            let reply = request_route(&server, path, &headers);
            match route.access {
                Access::Token => {
                    assert_eq!(reply.status, 401, "{path} {what}");
                    let challenge = reply.header("www-authenticate").unwrap();
                    assert!(
                        challenge.contains("https://mainstay.example/.well-known/oauth-protected-resource"),
                        "{challenge}"
                    );
                }
                Access::Public => {
                    assert_eq!(reply.status, expected_status(path, AuthMode::AnotherIssuers), "{path} {what}")
                }
            }
        }
        let bearer = format!("Bearer {good}");
        let status = request_route(&server, path, &[("Host", &own), ("Authorization", &bearer)]).status;
        assert_eq!(status, expected_status(path, AuthMode::AnotherIssuers), "{path}");
    }
    let twice = request_route(
        &server,
        MCP,
        &[("Host", &own), ("Authorization", &format!("Bearer {good}")), ("Authorization", "Bearer x")],
    );
    assert_eq!(twice.status, 401);
    let metadata = request_route(&server, "/.well-known/oauth-protected-resource", &[("Host", &own)]).message();
    assert_eq!((&metadata["resource"], &metadata["authorization_servers"][0]), (&json!(AUDIENCE), &json!(ISSUER)));
}

#[test]
fn scopes_decide_what_is_listed_and_what_is_called() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let reader = format!("Bearer {}", issuer.token(&json!({"scope": "read"})));
    let token = [("Authorization", reader.as_str())];
    let mut http = server.connect();
    let listed = http.request("tools/list", json!({}), &token).unwrap().message();
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"probe_echo") && !names.contains(&"probe_append"));
    let call = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    let rejected = http.request("tools/call", call, &token).unwrap();
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\", \
         resource_metadata=\"https://mainstay.example/.well-known/oauth-protected-resource\"";
    assert_eq!((rejected.status, rejected.header("www-authenticate")), (403, Some(challenge)));
    let rejected = rejected.message();
    assert_eq!(rejected["result"]["isError"], true);
    assert_eq!(rejected["result"]["_meta"]["io.mainstay/error"]["kind"], "denied");
    let ask = |http: &mut crate::testing::program::Http, method: &str, params: Value| {
        http.rpc("/rpc", &token, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).message()
    };
    let named = json!({"filter": {"names": ["probe/echo", "probe/append"]}});
    let listed = ask(&mut http, "tools/list", named);
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"], &tools[0]["auth_required"]), (1, &json!("probe/echo"), &json!(true)));
    let rejected = ask(&mut http, "probe/append", json!({"file": "a", "line": "x"}));
    assert_eq!(
        (&rejected["error"]["code"], &rejected["error"]["data"]["required_scope"]),
        (&json!(1002), &json!("write")),
        "{rejected}"
    );
    assert!(!data.path().join("probe/a").exists());
}

#[test]
fn an_admin_tool_is_rejected_before_consent_is_requested() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let call = |scope: &str| {
        let bearer = format!("Bearer {}", issuer.token(&json!({ "scope": scope })));
        let call = json!({"name": "delete_all_data", "arguments": {}});
        server.connect().request("tools/call", call, &[("Authorization", &bearer)]).unwrap().message()
    };
    let rejected = call("read write execute delete consent");
    let error = &rejected["result"]["_meta"]["io.mainstay/error"];
    assert_eq!((&error["kind"], &error["data"]["required_scope"]), (&json!("denied"), &json!("admin")), "{rejected}");
    let asked = call("admin");
    let waits = asked["result"]["resultType"] == "input_required"
        || asked["result"]["_meta"]["io.mainstay/error"]["kind"] == "consent_required";
    assert!(waits, "{asked}");
}

#[test]
fn a_session_is_bound_to_the_principal_that_opened_it() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |who: &str| format!("Bearer {}", issuer.token(&json!({"sub": who})));
    let (alice, bob) = (bearer("alice"), bearer("bob"));
    let mut http = server.connect();
    let opened =
        http.post(&[("Authorization", &alice)], crate::testing::program::initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    assert!(session.len() >= 32, "{session}");
    let ping = br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let as_bob = [("Authorization", bob.as_str()), ("Mcp-Session-Id", session.as_str())];
    assert_eq!(http.post(&as_bob, ping).unwrap().status, 404);
    let host = server.address.to_string();
    let delete = |http: &mut crate::testing::program::Http, who: &str| {
        http.send("DELETE /mcp", &[("Host", &host), ("Authorization", who), ("Mcp-Session-Id", &session)], b"")
            .unwrap()
            .status
    };
    assert_eq!(delete(&mut http, &bob), 404);
    let get = [
        ("Host", host.as_str()),
        ("Accept", "text/event-stream"),
        ("Authorization", &bob),
        ("Mcp-Session-Id", &session),
    ];
    assert_eq!(http.send("GET /mcp", &get, b"").unwrap().status, 404);
    // A refreshed token is the same person.
    let renewed = format!("Bearer {}", issuer.token(&json!({"exp": 4_000_000_001_u64})));
    let as_alice = [("Authorization", renewed.as_str()), ("Mcp-Session-Id", session.as_str())];
    assert_eq!(http.post(&as_alice, ping).unwrap().status, 200);
    assert_eq!(delete(&mut http, &alice), 204);
    assert_eq!(http.post(&as_alice, ping).unwrap().status, 404);
}

#[test]
fn another_principals_data_does_not_exist() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let bearer = |who: &str| format!("Bearer {}", issuer.token(&json!({"sub": who, "scope": "read write delete"})));
    let (alice, bob) = (bearer("alice"), bearer("bob"));
    let mut http = server.connect();
    let mut as_who = |who: &str, method: &str, mut params: Value| {
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}});
        let name = params["taskId"].as_str().map(str::to_owned);
        let mut headers = vec![("Authorization", who)];
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        http.request(method, params, &headers).unwrap().message()
    };
    // A task.
    let task = as_who(&alice, "tools/call", json!({"name": "slow_compute", "arguments": {"seconds": 1}}));
    let id = json!({"taskId": task["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{task}"))});
    assert!(as_who(&alice, "tasks/get", id.clone())["result"]["status"].is_string());
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(as_who(&bob, method, id.clone())["error"]["code"], -32602, "{method}");
    }
    // The state of a question.
    let destroy = json!({"name": "probe_destroy", "arguments": {"file": "x"}});
    let asked = as_who(&alice, "tools/call", destroy.clone());
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let mut answered = destroy;
    answered["requestState"] = asked["result"]["requestState"].clone();
    answered["inputResponses"] = json!({key: {"action": "accept", "content": {}}});
    assert_eq!(as_who(&bob, "tools/call", answered)["error"]["code"], -32602);
    // An idempotency key.
    let append = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    for who in [&alice, &bob] {
        let keyed = [("Authorization", who.as_str()), ("Idempotency-Key", "same")];
        assert_eq!(http.request("tools/call", append.clone(), &keyed).unwrap().message()["result"]["isError"], false);
    }
    assert_eq!(std::fs::read_to_string(data.path().join("probe/a")).unwrap(), "x\nx\n");
}

#[test]
fn another_principals_session_id_is_ignored_by_stateless_requests() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let call = json!({"name": "probe_whoami", "arguments": {}});
    let answer = http.request("tools/call", call, &[("Mcp-Session-Id", "alices")]).unwrap().message();
    assert!(answer["result"]["structuredContent"]["principal"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("alices"), "{answer}");
}

#[test]
fn an_allowed_origin_can_call_and_read_and_another_cannot() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("c.toml"), "[server]\nallowed_origins = [\"https://app.example\"]\n").unwrap();
    let server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    let host = server.address.to_string();
    let preflight = |origin: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "mcp-method"),
        ];
        server.connect().send("OPTIONS /mcp", &headers, b"").unwrap()
    };
    let allowed = preflight("https://app.example");
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, Some("https://app.example")));
    assert_eq!(allowed.header("access-control-allow-headers"), Some("mcp-method"));
    let other = preflight("https://evil.example");
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None));
    let answer = request_route(&server, MCP, &[("Host", &host), ("Origin", "https://app.example")]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("https://app.example")));
}

#[test]
fn the_extra_listener_has_the_same_host_and_token_checks() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    std::fs::write(data.path().join("keys.json"), json!({"keys": [issuer.jwk]}).to_string()).unwrap();
    let config = format!(
        "[server]\nmira_listen = \"{free}\"\n[server.auth]\nissuer = {ISSUER:?}\naudience = {AUDIENCE:?}\nkeys = {:?}\n",
        data.path().join("keys.json").to_str().unwrap()
    );
    std::fs::write(data.path().join("c.toml"), config).unwrap();
    let _server = Server::start(data.path(), &["--config", data.path().join("c.toml").to_str().unwrap()]);
    let mut http = crate::testing::program::Http::connect(free);
    let (own, bearer) = (free.to_string(), format!("Bearer {}", issuer.token(&json!({}))));
    let mut post = |path: &str, headers: &[(&str, &str)]| {
        http.send(&format!("POST {path}"), headers, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).unwrap()
    };
    let good = post("/", &[("Host", &own), ("Authorization", &bearer)]);
    assert_eq!(good.status, 200);
    assert_eq!(good.message()["result"]["tools"][0]["server"]["endpoint"], format!("http://{free}/"));
    for (what, headers, status) in [
        ("no token", vec![("Host", own.as_str())], 401),
        ("garbage", vec![("Host", own.as_str()), ("Authorization", "Bearer x")], 401),
        ("a foreign host", vec![("Host", "evil.example"), ("Authorization", &bearer)], 403),
        (
            "a foreign origin",
            vec![("Host", own.as_str()), ("Origin", "http://evil.example"), ("Authorization", &bearer)],
            403,
        ),
    ] {
        assert_eq!(post("/", &headers).status, status, "{what}");
    }
    assert_eq!(post("/mcp", &[("Host", &own), ("Authorization", &bearer)]).status, 404, "nothing else is there");
}

#[test]
fn a_public_address_without_authentication_is_rejected_at_startup() {
    let data = tempfile::tempdir().unwrap();
    let (code, _, error) = run(data.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, 1);
    assert!(error.contains("refusing to listen on 0.0.0.0:0 without authentication"), "{error}");
    std::fs::write(data.path().join("c.toml"), "[server]\nmira_listen = \"0.0.0.0:0\"\n").unwrap();
    let file = data.path().join("c.toml");
    let (code, _, error) = run(data.path(), &["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(error.contains("refusing to listen on 0.0.0.0:0 without authentication"), "{error}");
}
