//! Every fixture under contracts/mira, on the real program, over HTTP and over stdio.

use std::fs;
use std::path::Path;
use std::process::Command;

use mainstay_core::schema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::fixture::{Fixture, Request, run_all, workspace};
use crate::testing::matching::Kept;
use crate::testing::program::{Http, Piped, Server};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/mira");

/// A way to the program: what is sent on it comes back as the messages it is answered with.
trait Road {
    /// `answers` is how many there should be; the last one is the response.
    fn exchange(&mut self, message: &[u8], answers: usize) -> Vec<Value>;
}

impl Road for Http {
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
            Some("text/event-stream") => reply.events(),
            Some(_) => vec![reply.message()],
            None => Vec::new(),
        }
    }
}

impl Road for Piped {
    fn exchange(&mut self, message: &[u8], answers: usize) -> Vec<Value> {
        self.write(message);
        let mut heard = Vec::new();
        while answers > 0 && heard.last().is_none_or(|last: &Value| last.get("method").is_some()) {
            heard.push(self.read().unwrap());
        }
        heard
    }
}

fn run(fixture: &Fixture, road: &mut dyn Road, workspace: &Path) -> Result<(), String> {
    let unused = fixture.unused(&[]);
    if !unused.is_empty() {
        return Err(format!("{unused:?} belong to no step"));
    }
    fixture.prepare(workspace);
    let schemas = Path::new(CONTRACT).join("schemas");
    let mut kept = Kept::new(&schemas);
    let mut wrong = Ok(());
    for suffix in fixture.steps() {
        let request = match fixture.request(&suffix).unwrap() {
            Request::Message(message) => Request::Message(kept.fill(message)),
            bytes @ Request::Bytes(_) => bytes,
        };
        let expected = fixture.response(&suffix);
        let actual = road.exchange(&request.bytes(), fixture.response(&suffix).len());
        let step = kept
            .compare(&expected.into(), &actual.clone().into(), &format!("answer{suffix}"))
            .and_then(|()| actual.last().map_or(Ok(()), |last| keeps_schema(&request, last, &schemas)));
        wrong = wrong.and(step);
    }
    // Whatever was said too much would be read now.
    let after =
        road.exchange(&json!({"jsonrpc": "2.0", "id": "after", "method": "no/such"}).to_string().into_bytes(), 1);
    let after = kept.compare(&"after".into(), &after[0]["id"], "afterwards");
    wrong.and(after).and_then(|()| fixture.left_behind(workspace))
}

/// A result of a method whose result schema the contract has, held against it.
fn keeps_schema(request: &Request, answer: &Value, schemas: &Path) -> Result<(), String> {
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

fn hold(road: &mut dyn Road, workspace: &Path) {
    let all = Fixture::all(CONTRACT);
    assert!(all.len() > 60, "only {} fixtures were found", all.len());
    run_all(&all, |fixture| run(fixture, road, workspace));
}

#[test]
fn every_fixture_holds_over_http() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let server = Server::from(program(&["serve", "--listen", "127.0.0.1:0"], &data, &workspace));
    hold(&mut server.connect(), &workspace);
}

#[test]
fn every_fixture_holds_over_stdio() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let command = program(&["stdio", "--dialect", "mira"], &data, &workspace);
    hold(&mut Piped::from(command, data), &workspace);
}
