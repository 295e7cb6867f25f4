//! Tokens that the server issues itself, from `client add` to the rejected call.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use mainstay_server::{Access, routes};
use mainstay_store::{Store, StoreOptions};
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::access::routes::{AuthMode, MCP, expected_status, request_route};
use crate::testing::program::{
    Http, Reply, Server, command, initialize, run, stateless_request, wait_until, workspace,
};

const AUDIENCE: &str = "https://mainstay.example/mcp";
const ISSUER: &str = "https://mainstay.example";

pub(crate) fn local_auth(data: &Path) -> Server {
    std::fs::write(data.join("c.toml"), format!("[server.auth]\nmode = \"local\"\naudience = {AUDIENCE:?}\n")).unwrap();
    Server::start(data, &["--config", data.join("c.toml").to_str().unwrap()])
}

pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Client {
    pub(crate) fn add(data: &Path, scope: &str) -> Self {
        let (code, out, error) = run(data, &["client", "add", "An app", "--scope", scope, "--json"]);
        assert_eq!(code, 0, "{error}");
        let made: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(made["scope"], scope);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Self { id: text("client_id"), secret: text("client_secret") }
    }

    fn asks(&self, more: &Value) -> Value {
        let mut body = json!({"grant_type": "client_credentials", "client_id": self.id, "client_secret": self.secret});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    pub(crate) fn granted(&self, server: &Server, more: &Value) -> Value {
        let reply = post(server, "/oauth/token", &self.asks(more));
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.message()
    }

    pub(crate) fn token(&self, server: &Server) -> String {
        self.granted(server, &json!({}))["access_token"].as_str().unwrap().to_owned()
    }

    fn basic(&self) -> String {
        format!("Basic {}", BASE64.encode(format!("{}:{}", self.id, self.secret)))
    }
}

fn post(server: &Server, path: &str, body: &Value) -> Reply {
    let host = server.address.to_string();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    server.connect().send(&format!("POST {path}"), &headers, body.to_string().as_bytes()).unwrap()
}

fn form(server: &Server, more: &[(&str, &str)], body: &str) -> Reply {
    let host = server.address.to_string();
    let mut headers = vec![("Host", host.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    headers.extend(more);
    server.connect().send("POST /oauth/token", &headers, body.as_bytes()).unwrap()
}

fn listed(server: &Server, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    request_route(server, MCP, &[("Host", &server.address.to_string()), ("Authorization", &bearer)]).status
}

/// Somebody who has the server's own private key, and with it makes what the server never would.
struct Forger {
    id: String,
    key: EncodingKey,
}

impl Forger {
    fn at(data: &Path) -> Self {
        let url = format!("sqlite:{}", data.join("mainstay.db").display());
        let keys = tokio::runtime::Runtime::new().unwrap().block_on(async {
            let store = Store::open(&url, StoreOptions::default()).await.unwrap();
            let keys = store.oauth().signing_keys(0).await.unwrap();
            store.close().await.unwrap();
            keys
        });
        Self { id: keys[0].id.clone(), key: EncodingKey::from_ed_der(&keys[0].pkcs8) }
    }

    fn token(&self, client: &Client, change: &Value) -> String {
        let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": client.id, "client_id": client.id,
            "scope": "read", "jti": "f.j", "iat": 1_000_000, "exp": 4_000_000_000_u64});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let header = Header { kid: Some(self.id.clone()), typ: Some("at+jwt".into()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, &claims, &self.key).unwrap()
    }
}

#[test]
fn every_route_rejects_every_invalid_local_token_unless_it_is_public() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let (client, gone) = (Client::add(data.path(), "read"), Client::add(data.path(), "read"));
    let (good, disabled, revoked) = (client.token(&server), gone.token(&server), client.token(&server));
    assert_eq!(run(data.path(), &["client", "disable", &gone.id]).0, 0);
    assert_eq!(post(&server, "/oauth/revoke", &client.asks(&json!({"token": revoked}))).status, 200);
    let forger = Forger::at(data.path());
    let forged = |change: Value| forger.token(&client, &change);
    let keys = request_route(&server, "/oauth/jwks", &[("Host", &server.address.to_string())]).message();
    let shared = {
        let key = EncodingKey::from_secret(keys["keys"][0]["x"].as_str().unwrap().as_bytes());
        let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": client.id, "client_id": client.id,
            "scope": "admin", "jti": "f.j", "iat": 1, "exp": 4_000_000_000_u64});
        let header =
            Header { kid: Some(forger.id.clone()), typ: Some("at+jwt".into()), ..Header::new(Algorithm::HS256) };
        encode(&header, &claims, &key).unwrap()
    };
    let header = BASE64URL.encode(json!({"alg": "none", "typ": "at+jwt", "kid": forger.id}).to_string());
    let unsigned = format!("{header}.{}.", good.split('.').nth(1).unwrap());
    let admin =
        BASE64URL.encode(json!({"iss": ISSUER, "aud": AUDIENCE, "sub": client.id, "scope": "admin"}).to_string());
    let mut changed: Vec<&str> = good.split('.').collect();
    changed[1] = &admin;
    // What the forger makes is good if nothing in it is wrong, so that it is each change that is refused.
    assert_eq!(listed(&server, &forged(json!({}))), 200);
    let bad = [
        ("no token", None),
        ("garbage", Some("garbage".to_owned())),
        ("nothing", Some(String::new())),
        ("alg none", Some(unsigned)),
        ("a shared secret made of the public key", Some(shared)),
        ("other claims under the same signature", Some(changed.join("."))),
        ("wrong audience", Some(forged(json!({"aud": "https://mainstay.example/other"})))),
        ("no audience", Some(forged(json!({"aud": null})))),
        ("expired", Some(forged(json!({"exp": 1_000_000})))),
        ("never expires", Some(forged(json!({"exp": null})))),
        ("other issuer", Some(forged(json!({"iss": "https://evil.example"})))),
        ("nobody", Some(forged(json!({"sub": null})))),
        ("a client that does not exist", Some(forged(json!({"client_id": "nobody"})))),
        ("revoked", Some(revoked)),
        ("disabled client", Some(disabled)),
    ];
    let own = server.address.to_string();
    wait_until(|| listed(&server, bad[14].1.as_deref().unwrap()) == 401);
    for route in routes() {
        let path = route.path;
        for (what, token) in &bad {
            let bearer = token.as_deref().map(|token| format!("Bearer {token}"));
            let mut headers = vec![("Host", own.as_str())];
            headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
            let reply = request_route(&server, path, &headers);
            match route.access {
                Access::Token => {
                    assert_eq!(reply.status, 401, "{path} {what}");
                    let challenge = reply.header("www-authenticate").unwrap();
                    assert!(
                        challenge.contains(&format!("{ISSUER}/.well-known/oauth-protected-resource")),
                        "{challenge}"
                    );
                }
                Access::Public => assert_eq!(reply.status, expected_status(path, AuthMode::Own), "{path} {what}"),
            }
        }
        let bearer = format!("Bearer {good}");
        let status = request_route(&server, path, &[("Host", &own), ("Authorization", &bearer)]).status;
        assert_eq!(status, expected_status(path, AuthMode::Own), "{path}");
    }
}

#[test]
fn a_token_is_issued_for_json_form_and_basic_requests() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let client = Client::add(data.path(), "read write execute");
    let reply = post(&server, "/oauth/token", &client.asks(&json!({"scope": "read write execute"})));
    assert_eq!(
        (reply.status, reply.header("cache-control"), reply.header("pragma")),
        (200, Some("no-store"), Some("no-cache"))
    );
    let given = reply.message();
    let names: Vec<_> = given.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
    assert_eq!((&given["token_type"], &given["expires_in"]), (&json!("Bearer"), &json!(86_400)));
    assert_eq!(given["scope"], "read write execute");
    let (id, secret, basic) = (&client.id, &client.secret, client.basic());
    let in_form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}&scope=read+write");
    let in_header = [("Authorization", basic.as_str())];
    for reply in
        [form(&server, &[], &in_form), form(&server, &in_header, "grant_type=client_credentials&scope=read+write")]
    {
        assert_eq!((reply.status, &reply.message()["scope"]), (200, &json!("read write")), "{}", reply.body);
        assert_eq!(listed(&server, reply.message()["access_token"].as_str().unwrap()), 200);
    }
    let both = form(&server, &in_header, &in_form);
    assert_eq!((both.status, &both.message()["error"]), (400, &json!("invalid_request")));
    let to_here = json!({"resource": AUDIENCE});
    assert_eq!(post(&server, "/oauth/token", &client.asks(&to_here)).status, 200);
}

#[test]
fn a_rejected_token_request_has_an_oauth_error() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let client = Client::add(data.path(), "read");
    let long = "read ".repeat(1000);
    for (what, change, status, error) in [
        ("a bad secret", json!({"client_secret": "wrong"}), 401, "invalid_client"),
        (
            "an unknown client",
            json!({"client_id": "test_client", "client_secret": "test_secret"}),
            401,
            "invalid_client",
        ),
        ("no client", json!({"client_id": null}), 401, "invalid_client"),
        ("no grant type", json!({"grant_type": null}), 400, "invalid_request"),
        ("another grant type", json!({"grant_type": "password"}), 400, "unsupported_grant_type"),
        ("a scope it does not have", json!({"scope": "read admin"}), 400, "invalid_scope"),
        ("a scope that does not exist", json!({"scope": "everything"}), 400, "invalid_scope"),
        ("an oversized scope", json!({"scope": long}), 400, "invalid_scope"),
        ("no refresh token", json!({"grant_type": "refresh_token"}), 400, "invalid_request"),
        ("a made-up refresh token", json!({"grant_type": "refresh_token", "refresh_token": "x"}), 400, "invalid_grant"),
        ("another server", json!({"resource": "https://other.example/mcp"}), 400, "invalid_target"),
        ("a number", json!({"scope": 1}), 400, "invalid_request"),
    ] {
        let reply = post(&server, "/oauth/token", &client.asks(&change));
        assert_eq!((reply.status, reply.message()["error"].as_str()), (status, Some(error)), "{what}: {}", reply.body);
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{what}");
        assert_eq!(reply.header("www-authenticate").is_some(), status == 401, "{what}");
    }
    let huge = post(&server, "/oauth/token", &client.asks(&json!({"pad": "x".repeat(100_000)})));
    assert_eq!((huge.status, &huge.message()["error"]), (413, &json!("invalid_request")));
    // The eleventh wrong secret within a minute, and the right one after it.
    let wrong = client.asks(&json!({"client_secret": "wrong"}));
    while post(&server, "/oauth/token", &wrong).status == 401 {}
    let reply = post(&server, "/oauth/token", &client.asks(&json!({})));
    assert_eq!(reply.status, 429);
    assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
}

#[test]
fn refresh_tokens_rotate_and_reuse_revokes_the_family() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let client = Client::add(data.path(), "read write");
    let renew = |token: &Value| {
        post(&server, "/oauth/token", &client.asks(&json!({"grant_type": "refresh_token", "refresh_token": token})))
    };
    let first = client.granted(&server, &json!({}));
    let second = renew(&first["refresh_token"]).message();
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_eq!(second["scope"], "read write");
    assert_eq!(listed(&server, second["access_token"].as_str().unwrap()), 200);
    let reused = renew(&first["refresh_token"]);
    assert_eq!((reused.status, &reused.message()["error"]), (400, &json!("invalid_grant")));
    assert_eq!(renew(&second["refresh_token"]).status, 400);
    assert_eq!(listed(&server, second["access_token"].as_str().unwrap()), 401);
}

#[test]
fn keys_and_tokens_survive_a_restart_and_are_shared_by_two_processes() {
    let data = tempfile::tempdir().unwrap();
    let one = local_auth(data.path());
    let client = Client::add(data.path(), "read");
    let given = client.granted(&one, &json!({}));
    let token = given["access_token"].as_str().unwrap();
    one.kill();
    let (one, two) = (local_auth(data.path()), local_auth(data.path()));
    assert_eq!((listed(&one, token), listed(&two, token)), (200, 200));
    let renew = client.asks(&json!({"grant_type": "refresh_token", "refresh_token": given["refresh_token"]}));
    let renewed = post(&two, "/oauth/token", &renew).message();
    assert_eq!(listed(&one, renewed["access_token"].as_str().unwrap()), 200);
    // What ends at one ends at the other, in seconds.
    let (code, out, error) = run(data.path(), &["client", "rotate-key"]);
    assert_eq!(code, 0, "{out}{error}");
    assert_eq!(post(&two, "/oauth/revoke", &client.asks(&json!({"token": token}))).status, 200);
    wait_until(|| listed(&one, token) == 401);
    let other = Client::add(data.path(), "read").token(&two);
    assert_eq!((listed(&one, &other), listed(&one, renewed["access_token"].as_str().unwrap())), (200, 200));
    assert_eq!(run(data.path(), &["client", "disable", &client.id]).0, 0);
    wait_until(|| listed(&one, renewed["access_token"].as_str().unwrap()) == 401);
    let (_, shown, _) = run(data.path(), &["client", "list"]);
    assert!(shown.contains(&format!("{}  disabled", client.id)), "{shown}");
}

#[test]
fn a_read_token_lists_read_tools_only_and_is_told_the_missing_scope() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let bearer = format!("Bearer {}", Client::add(data.path(), "read").token(&server));
    let token = [("Authorization", bearer.as_str())];
    let mut http = server.connect();
    let listed = http.request("tools/list", json!({}), &token).unwrap().message();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 3 && tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{listed}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"limit": 200}});
    let listed = http.rpc("/rpc", &token, &list).message();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 3 && tools.iter().all(|tool| tool["name"] != "probe/append"), "{listed}");

    let call = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    let opened = http.post(&token, initialize(1).to_string().as_bytes()).unwrap();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let in_session = [token[0], ("Mcp-Session-Id", session.as_str())];
    let old = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call});
    let with_progress =
        json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}, "_meta": {"progressToken": 1}});
    let as_method = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/append", "params": {"file": "a", "line": "x"}});
    for (what, reply) in [
        ("the short way", http.request("tools/call", call, &token).unwrap()),
        ("the long way", http.request("tools/call", with_progress, &token).unwrap()),
        ("in a session", http.post(&in_session, old.to_string().as_bytes()).unwrap()),
    ] {
        let challenge = reply.header("www-authenticate").unwrap_or_default();
        assert_eq!(reply.status, 403, "{what}: {}", reply.body);
        assert!(
            challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"write\", resource_metadata="),
            "{what}: {challenge}"
        );
        assert!(reply.body.contains("required_scope"), "{what}: {}", reply.body);
    }
    // The contract's errors are all HTTP 200.
    let as_method = http.rpc("/rpc", &token, &as_method);
    assert_eq!((as_method.status, as_method.body.contains("1002")), (200, true), "{}", as_method.body);
    assert!(!data.path().join("probe/a").exists());
    let writer = format!("Bearer {}", Client::add(data.path(), "write").token(&server));
    let blind = http.request("tools/list", json!({}), &[("Authorization", &writer)]).unwrap();
    assert_eq!(blind.status, 403, "{}", blind.body);
    assert!(blind.header("www-authenticate").unwrap().contains("scope=\"read\""));
}

#[test]
fn without_authentication_a_token_is_optional_but_must_be_valid() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let own = server.address.to_string();
    let client = Client::add(data.path(), "read");
    let bearer = format!("Bearer {}", client.token(&server));
    let mut http: Http = server.connect();
    let whoami = |http: &mut Http, more: &[(&str, &str)]| {
        let call = json!({"name": "probe_whoami", "arguments": {}});
        http.request("tools/call", call, more).unwrap().message()["result"]["structuredContent"]["principal"].clone()
    };
    assert_eq!(whoami(&mut http, &[]), "local");
    assert_eq!(whoami(&mut http, &[("Authorization", &bearer)]), format!("http://{own} {}", client.id));
    let append = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"}});
    assert_eq!(http.request("tools/call", append.clone(), &[("Authorization", &bearer)]).unwrap().status, 403);
    assert_eq!(http.request("tools/call", append, &[]).unwrap().status, 200);
    for bad in ["Bearer garbage", "Bearer", "Basic eDp5", &format!("{bearer}x")] {
        let reply = request_route(&server, MCP, &[("Host", &own), ("Authorization", bad)]);
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Bearer error=\"invalid_token\"")),
            "{bad}"
        );
    }
    let metadata = request_route(&server, "/.well-known/oauth-authorization-server", &[("Host", &own)]).message();
    assert_eq!(metadata["issuer"], format!("http://{own}"));
    assert_eq!(metadata["token_endpoint"], format!("http://{own}/oauth/token"));
}

#[test]
fn a_client_can_be_created_with_a_chosen_id_and_secret() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let args = [
        "client",
        "add",
        "The examples",
        "--id",
        "test_client",
        "--secret-stdin",
        "--scope",
        "read write",
        "--scope",
        "execute",
    ];
    let mut add = command(data.path(), &args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    add.stdin.take().unwrap().write_all(b"test_secret\n").unwrap();
    let out = add.wait_with_output().unwrap();
    assert!(out.status.success() && !String::from_utf8_lossy(&out.stdout).contains("test_secret"));
    let asked = json!({"grant_type": "client_credentials", "client_id": "test_client",
        "client_secret": "test_secret", "scope": "read write execute"});
    assert_eq!(post(&server, "/oauth/token", &asked).message()["scope"], "read write execute");
    let (code, _, error) = run(data.path(), &["client", "add", "x", "--scope", "root"]);
    assert!(code != 0 && error.contains("\"root\" is not a scope"), "{error}");
}

/// Everything that must not be known is made recognisable, and then looked for in all that is written.
#[test]
fn no_secret_is_in_the_log_or_the_audit() {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log");
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (text, dir, written) =
        (address.to_string(), data.path().to_str().unwrap(), std::fs::File::create(&log).unwrap());
    let mut serve = Command::new(PROGRAM);
    serve.args(["serve", "--listen", &text, "--data-dir", dir, "--workspace", workspace(), "--log", "trace"]);
    let mut child = serve.env("XDG_CONFIG_HOME", dir).stdin(Stdio::null()).stderr(written).spawn().unwrap();
    wait_until(|| std::net::TcpStream::connect(address).is_ok());
    let client = Client::add(data.path(), "read");
    let ask = |path: &str, headers: &[(&str, &str)], body: &Value| {
        let mut all = vec![("Host", text.as_str()), ("Content-Type", "application/json")];
        all.extend(headers);
        Http::connect(address).send(&format!("POST {path}"), &all, body.to_string().as_bytes()).unwrap()
    };
    let given = ask("/oauth/token", &[], &client.asks(&json!({}))).message();
    ask("/oauth/token", &[], &client.asks(&json!({"client_secret": "canary-secret"})));
    ask(
        "/oauth/token",
        &[("Authorization", "Basic Y2FuYXJ5LWlkOmNhbmFyeS1wYXNz")],
        &json!({"grant_type": "client_credentials"}),
    );
    let renew = client.asks(&json!({"grant_type": "refresh_token", "refresh_token": given["refresh_token"]}));
    ask("/oauth/token", &[], &renew);
    ask("/oauth/token", &[], &renew);
    let bearer = format!("Bearer {}", given["access_token"].as_str().unwrap());
    ask("/mcp", &[("Authorization", &bearer)], &stateless_request(1, "tools/list", json!({})));
    ask("/mcp", &[("Authorization", "Bearer canary.token")], &stateless_request(1, "tools/list", json!({})));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    child.wait().unwrap();
    let (code, audit, _) = run(data.path(), &["audit", "show"]);
    assert!(code == 0 && audit.matches("oauth/token").count() == 5, "{audit}");
    let written = std::fs::read_to_string(&log).unwrap() + &audit;
    assert!(written.contains("an access token was rejected"), "the log is not what was meant to be looked through");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    for secret in [
        client.secret.clone(),
        word(&given["refresh_token"]),
        word(&given["access_token"]),
        "canary".to_owned(),
        "Y2FuYXJ5".to_owned(),
    ] {
        assert!(!written.contains(&secret), "{secret}");
    }
}
