//! Texts that callers choose: they forge no line of the log, bring no secret into log, audit or messages, and break
//! nothing where they cannot be stored.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use crate::access::routes::{Issuer, MCP, request_route, with_auth};
use crate::consent::approval::get;
use crate::testing::program::{Http, Reply, Server, command, run, wait_until};

fn call(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Neither the log nor the audit has what must not be in them.
fn leaves_no_canary(server: &Server, http: &mut Http) {
    let audit = get(http, "/api/mcp/audit?limit=1000", &[]);
    assert_eq!(audit.status, 200, "{}", audit.body);
    assert!(!audit.body.contains("canary"), "{}", audit.body);
    assert!(!server.log().contains("canary"), "{}", server.log());
}

#[test]
fn a_token_cannot_forge_a_line_of_the_log() {
    let data = tempfile::tempdir().unwrap();
    let server = with_auth(data.path(), &Issuer::new("a"));
    let own = server.address.to_string();
    let line = "x\n2026-01-01T00:00:00Z ERROR forged";
    for header in [
        json!({"alg": line, "typ": "JWT"}),
        json!({"alg": "EdDSA", "kid": line}),
        json!({"alg": "EdDSA", "crit": line}),
        json!({"alg": "EdDSA", line: 1, "typ": [line]}),
    ] {
        let token = format!("Bearer {}.e30.AAAA", BASE64URL.encode(header.to_string()));
        let rejected = request_route(&server, MCP, &[("Host", &own), ("Authorization", &token)]);
        assert_eq!(rejected.status, 401, "{header}");
    }
    wait_until(|| server.log().matches("an access token was rejected").count() >= 4);
    assert!(!server.log().contains("forged"), "{}", server.log());
}

#[test]
fn credentials_in_a_resource_uri_are_neither_recorded_nor_repeated() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    for uri in [
        "https://ann:canary@host/a",
        "db://schema/complete?access_token=canary",
        "file:///a?x=1&password=canary",
        "test://static-text#key=canary",
    ] {
        let standard = http.request("resources/read", json!({ "uri": uri }), &[]).unwrap();
        let dialect = http.rpc("/jsonrpc", &[], &call(1, "resources/read", &json!({ "uri": uri })));
        for reply in [standard, dialect] {
            assert!(!reply.body.contains("canary"), "{uri}: {}", reply.body);
        }
    }
    leaves_no_canary(&server, &mut http);
}

#[test]
fn secrets_in_arguments_are_neither_logged_nor_repeated() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    for args in [
        json!({"command": "no-such-mysql -pcanary"}),
        json!({"command": "PGPASSWORD=canary psql"}),
        json!({"command": ["mysql", "-pcanary"]}),
        json!({"command": "true", "env": {"PASSWORD": ["canary"]}}),
        json!({"command": "true", "env": "PASSWORD=canary"}),
        json!({"command": "true", "args": "-pcanary"}),
        json!({"command": "x".repeat(1_000_000) + "canary"}),
        json!({"command": "true", "cwd": "x".repeat(1_000_000)}),
    ] {
        let standard = http.request("tools/call", json!({"name": "exec_run", "arguments": args}), &[]).unwrap();
        let dialect = http.rpc("/rpc", &[], &call(1, "exec/run", &args));
        for reply in [standard, dialect] {
            assert!(!reply.body.contains("canary"), "{}", reply.body);
            assert!(reply.body.len() < 100_000, "{} bytes", reply.body.len());
        }
    }
    // Names are repeated, but not all of them.
    let long = "x".repeat(1_000_000);
    for reply in [
        http.rpc("/rpc", &[], &call(1, &long, &json!({}))),
        http.rpc("/jsonrpc", &[], &call(1, &long, &json!({}))),
        http.rpc("/jsonrpc", &[], &call(1, "tools/call", &json!({"name": long, "arguments": {}}))),
        http.rpc("/jsonrpc", &[], &call(1, "prompts/execute", &json!({"name": long, "arguments": {}}))),
    ] {
        assert!(reply.body.len() < 5000, "{} bytes", reply.body.len());
    }
    leaves_no_canary(&server, &mut http);
    assert!(get(&mut http, "/api/mcp/audit?limit=1000", &[]).body.len() < 100_000);
}

/// The program with a log at this level, instead of the tests' own.
fn with_log(data: &Path, args: &[&str], level: &str) -> Command {
    let program = command(data, args);
    let mut logging = Command::new(program.get_program());
    let own = |argument: &OsStr| if argument == "warn,mainstay=info" { level.into() } else { argument.to_owned() };
    logging.args(program.get_args().map(own));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => logging.env(name, value),
            None => logging.env_remove(name),
        };
    }
    logging
}

#[test]
fn secrets_in_arguments_are_not_in_a_log_of_everything_either() {
    let data = tempfile::tempdir().unwrap();
    let args = json!({"command": "no-such-mysql -pcanary", "args": ["canary"], "env": {"PASSWORD": "canary"}});
    let server = Server::from(with_log(data.path(), &["serve", "--listen", "127.0.0.1:0"], "trace"));
    let mut http = server.connect();
    http.request("tools/call", json!({"name": "exec_run", "arguments": args}), &[]).unwrap();
    http.rpc("/rpc", &[], &call(1, "exec/run", &args));
    wait_until(|| server.log().matches("call refused").count() >= 2);
    leaves_no_canary(&server, &mut http);
    // On stdio anything may come instead of a handshake.
    let data = tempfile::tempdir().unwrap();
    let mut program = with_log(data.path(), &["stdio"], "trace");
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let first = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"password": "canary"}});
    writeln!(input, "{first}").unwrap();
    for params in [json!({"name": "exec_run", "arguments": args}), json!({"name": ["canary"]}), json!(["canary"])] {
        writeln!(input, "{}", call(1, "tools/call", &params)).unwrap();
    }
    drop(input);
    let log = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(log.contains("a handshake failed") && !log.contains("canary"), "{log}");
}

#[test]
fn the_audit_is_shown_without_characters_that_control_a_terminal() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let method = "a\u{9b}2J\u{85}\u{202e}b\u{2066}c\u{200f}";
    server.connect().rpc("/rpc", &[], &call(1, method, &json!({})));
    let shown = || run(data.path(), &["audit", "show"]).1;
    wait_until(|| shown().contains("u009b"));
    let shown = shown();
    assert!(shown.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{shown:?}");
    let rows: Vec<Value> = shown.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(rows.iter().any(|row| row.to_string().contains(method)), "{shown}");
}

#[test]
fn a_nul_is_an_invalid_argument_wherever_it_would_be_stored() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let host = http.host();
    let check = |what: &str, reply: Reply| {
        assert_eq!(reply.status, 400, "{what}: {}", reply.body);
        assert!(!reply.body.contains("storage is not working"), "{what}: {}", reply.body);
    };
    let nul = "a\u{0}b";
    let tool = |name: &str, args: Value| call(1, "tools/call", &json!({"name": name, "arguments": args}));
    let logged = json!({"agent": nul, "activity": "x", "category": "task"});
    check("an agent", http.rpc("/jsonrpc", &[], &tool("log_activity", logged)));
    let logged = json!({"agent": "a", "activity": nul, "category": "task"});
    check("an activity", http.rpc("/jsonrpc", &[], &tool("log_activity", logged)));
    let component = json!({"component": nul, "owner": "a"});
    check("a component", http.rpc("/jsonrpc", &[], &tool("register_component", component)));
    for (field, value) in [("client_id", nul), ("refresh_token", nul), ("scope", nul)] {
        let mut asked = json!({"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"});
        asked[field] = json!(value);
        let reply = http.rpc("/oauth/token", &[], &asked);
        assert!(matches!(reply.status, 400 | 401), "{field}: {} {}", reply.status, reply.body);
    }
    check(
        "a client's id",
        http.rpc(
            "/oauth/token",
            &[],
            &json!({"grant_type": "client_credentials", "client_id": nul, "client_secret": "y"}),
        ),
    );
    let form = [("Host", host.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    let body = b"grant_type=client_credentials&client_id=a%00b&client_secret=y";
    check("a client's id in a form", http.send("POST /oauth/token", &form, body).unwrap());
    // Nothing that has no such name is looked up under it.
    assert_eq!(get(&mut http, "/api/mcp/consent/a%00b", &[]).status, 404);
    assert_eq!(http.rpc("/api/mcp/consent/a%00b", &[], &json!({"decision": "denied"})).status, 404);
    let keyed = json!({"name": "probe_append", "arguments": {"file": "a", "line": "x"},
        "_meta": {"io.mainstay/idempotencyKey": nul}});
    let answer = http.request("tools/call", keyed, &[]).unwrap();
    assert!(!answer.body.contains("storage is not working"), "{}", answer.body);
    assert_eq!(answer.message()["result"]["_meta"]["io.mainstay/error"]["kind"], "invalid", "{}", answer.body);
    assert_eq!(get(&mut http, "/health", &[]).status, 200);
}
