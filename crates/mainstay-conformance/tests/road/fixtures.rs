//! Every fixture under contracts/mira, on the real program, over HTTP and over stdio.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mainstay_core::schema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::matching::Kept;
use crate::program::{Http, PROGRAM, Piped, Server};

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

struct Fixture {
    name: String,
    folder: PathBuf,
}

impl Fixture {
    fn all() -> Vec<Self> {
        let entries = fs::read_dir(CONTRACT).unwrap().map(|entry| entry.unwrap());
        let mut all: Vec<Self> = entries
            .map(|entry| Self { name: entry.file_name().into_string().unwrap(), folder: entry.path() })
            .filter(|fixture| fixture.name.starts_with(|first: char| first.is_ascii_digit()))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The suffixes of its steps: none for a single one, else -1, -2 …
    fn steps(&self) -> Vec<String> {
        let is_step = |suffix: &String| self.request(suffix).is_some();
        let several: Vec<String> = (1..100).map(|nth| format!("-{nth}")).take_while(is_step).collect();
        let steps = if several.is_empty() { vec![String::new()] } else { several };
        assert!(steps.iter().all(is_step), "{} has no request", self.name);
        steps
    }

    fn request(&self, suffix: &str) -> Option<Request> {
        let read = |kind: &str| fs::read_to_string(self.folder.join(format!("request{suffix}.{kind}"))).ok();
        let whole = |text: String| Request::Message(serde_json::from_str(&text).unwrap());
        read("json").map(whole).or_else(|| read("txt").map(|text| Request::Bytes(text.trim_end().to_owned())))
    }

    /// The messages expected, in their order.
    fn response(&self, suffix: &str) -> Vec<Value> {
        match fs::read_to_string(self.folder.join(format!("response{suffix}.json"))) {
            Err(_) => Vec::new(),
            Ok(text) => {
                let expected: Value = serde_json::from_str(&text).unwrap();
                expected.as_array().cloned().unwrap_or_else(|| vec![expected])
            }
        }
    }

    fn run(&self, road: &mut dyn Road, workspace: &Path) -> Result<(), String> {
        empty(workspace);
        copy(&self.folder.join("workspace"), workspace);
        let schemas = Path::new(CONTRACT).join("schemas");
        let mut kept = Kept::new(&schemas);
        let mut wrong = Ok(());
        for suffix in self.steps() {
            let request = match self.request(&suffix).unwrap() {
                Request::Message(message) => Request::Message(kept.fill(message)),
                bytes @ Request::Bytes(_) => bytes,
            };
            let expected = self.response(&suffix);
            let actual = road.exchange(&request.bytes(), self.response(&suffix).len());
            let step = kept
                .compare(&expected.into(), &actual.clone().into(), &format!("answer{suffix}"))
                .and_then(|()| actual.last().map_or(Ok(()), |last| keeps_schema(&request, last, &schemas)));
            wrong = wrong.and(step);
        }
        // Whatever was said too much would be read now.
        let after =
            road.exchange(&json!({"jsonrpc": "2.0", "id": "after", "method": "no/such"}).to_string().into_bytes(), 1);
        wrong.and_then(|()| kept.compare(&"after".into(), &after[0]["id"], "afterwards"))
    }
}

enum Request {
    Message(Value),
    Bytes(String),
}

impl Request {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Message(message) => message.to_string().into_bytes(),
            Self::Bytes(text) => text.clone().into_bytes(),
        }
    }
}

/// A result of a method whose result schema the contract has, held against it.
fn keeps_schema(request: &Request, answer: &Value, schemas: &Path) -> Result<(), String> {
    let (Request::Message(message), Some(result)) = (request, answer.get("result")) else { return Ok(()) };
    let method = message["method"].as_str().unwrap_or_default().replace('/', "-");
    let Ok(schema) = fs::read_to_string(schemas.join(format!("{method}.result.json"))) else { return Ok(()) };
    let validator = Validator::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    validator.check(result).map_err(|error| format!("{method}: {error}"))
}

fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries.map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn program(args: &[&str], data: &TempDir, workspace: &TempDir) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg("--config").arg(Path::new(CONTRACT).join("server.toml"));
    command.arg("--data-dir").arg(data.path()).arg("--workspace").arg(workspace.path());
    command.args(["--log", "warn,mainstay=info"]).env_remove("MAINSTAY_STORE");
    command
}

fn run_all(road: &mut dyn Road, workspace: &TempDir) {
    let all = Fixture::all();
    assert!(all.len() > 60, "only {} fixtures were found", all.len());
    let failures = all.iter().filter_map(|fixture| {
        fixture.run(road, workspace.path()).err().map(|reason| format!("{}: {reason}", fixture.name))
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{} of {} fail:\n  {}", failures.len(), all.len(), failures.join("\n  "));
}

#[test]
fn every_fixture_holds_over_http() {
    let (data, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::from(program(&["serve", "--listen", "127.0.0.1:0"], &data, &workspace));
    run_all(&mut server.connect(), &workspace);
}

#[test]
fn every_fixture_holds_over_stdio() {
    let (data, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let command = program(&["stdio", "--dialect", "mira"], &data, &workspace);
    run_all(&mut Piped::from(command, data), &workspace);
}
