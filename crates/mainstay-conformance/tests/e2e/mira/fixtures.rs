//! Every fixture under contracts/mira, against the real program, over HTTP and over stdio.

use std::fs;
use std::path::Path;
use std::process::Command;

use mainstay_core::schema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::expected_response::Captures;
use crate::testing::fixture::{Fixture, Request, run_all, workspace};
use crate::testing::program::{Http, Server, StdioServer};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/mira");

/// A connection to the program.
trait Transport {
    /// Sends a message and returns the replies. `answers` is the expected number; the last one is the response.
    fn exchange(&mut self, message: &[u8], answers: usize) -> Vec<Value>;
}

impl Transport for Http {
    fn exchange(&mut self, message: &[u8], answers: usize) -> Vec<Value> {
        let host = self.host();
        let headers = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let reply = self.send("POST /rpc", &headers, message).unwrap();
        assert_eq!(reply.status, if answers == 0 { 202 } else { 200 }, "{}", reply.body);
        match reply.header("content-type") {
            Some(kind) if kind.starts_with("text/event-stream") => reply.events(),
            Some(_) => vec![reply.message()],
            None => Vec::new(),
        }
    }
}

impl Transport for StdioServer {
    fn exchange(&mut self, message: &[u8], answers: usize) -> Vec<Value> {
        self.write(message);
        let mut replies = Vec::new();
        while answers > 0 && replies.last().is_none_or(|last: &Value| last.get("method").is_some()) {
            replies.push(self.read().unwrap());
        }
        replies
    }
}

fn run(fixture: &Fixture, transport: &mut dyn Transport, workspace: &Path) -> Result<(), String> {
    let unused = fixture.unused(&[]);
    if !unused.is_empty() {
        return Err(format!("{unused:?} belong to no step"));
    }
    fixture.prepare(workspace);
    let schemas = Path::new(CONTRACT).join("schemas");
    let mut captures = Captures::new(&schemas);
    let mut wrong = Ok(());
    for suffix in fixture.steps() {
        let request = match fixture.request(&suffix).unwrap() {
            Request::Message(message) => Request::Message(captures.fill(message)),
            bytes @ Request::Bytes(_) => bytes,
        };
        let expected = fixture.response(&suffix);
        let actual = transport.exchange(&request.bytes(), fixture.response(&suffix).len());
        let step = captures
            .compare(&expected.into(), &actual.clone().into(), &format!("answer{suffix}"))
            .and_then(|()| actual.last().map_or(Ok(()), |last| matches_schema(&request, last, &schemas)));
        wrong = wrong.and(step);
    }
    // A surplus reply to an earlier step would be read now.
    let after =
        transport.exchange(&json!({"jsonrpc": "2.0", "id": "after", "method": "no/such"}).to_string().into_bytes(), 1);
    let after = captures.compare(&"after".into(), &after[0]["id"], "afterwards");
    wrong.and(after).and_then(|()| fixture.check_workspace(workspace))
}

/// Validates a result against the contract's result schema for the method, where it has one.
fn matches_schema(request: &Request, answer: &Value, schemas: &Path) -> Result<(), String> {
    let (Request::Message(message), Some(result)) = (request, answer.get("result")) else { return Ok(()) };
    let method = message["method"].as_str().unwrap_or_default().replace('/', "-");
    let Ok(schema) = fs::read_to_string(schemas.join(format!("{method}.result.json"))) else { return Ok(()) };
    let validator = Validator::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    validator.check(result).map_err(|error| format!("{method}: {error}"))
}

fn program(args: &[&str], data: &TempDir, workspace: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg("--config").arg(Path::new(CONTRACT).join("server.toml"));
    command.arg("--data-dir").arg(data.path()).arg("--workspace").arg(workspace);
    command.args(["--log", "warn,mainstay=info"]).env_remove("MAINSTAY_STORE");
    command
}

fn check_all(transport: &mut dyn Transport, workspace: &Path) {
    let all = Fixture::all(CONTRACT);
    assert!(all.len() > 60, "only {} fixtures were found", all.len());
    run_all(&all, |fixture| run(fixture, transport, workspace));
}

#[test]
fn every_fixture_passes_over_http() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let server = Server::from(program(&["serve", "--listen", "127.0.0.1:0"], &data, &workspace));
    check_all(&mut server.connect(), &workspace);
}

#[test]
fn every_fixture_passes_over_stdio() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let command = program(&["stdio", "--dialect", "mira"], &data, &workspace);
    check_all(&mut StdioServer::from(command, data), &workspace);
}
