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

    /// What lies in its folder and would never be looked at: a step after a gap, a response without its request.
    fn unused(&self) -> Vec<String> {
        let mut known: Vec<String> = ["workspace", "after", "after-absent.txt"].map(str::to_owned).into();
        for suffix in self.steps() {
            let kinds = ["request{}.json", "request{}.txt", "response{}.json"];
            known.extend(kinds.map(|kind| kind.replace("{}", &suffix)));
        }
        let entries = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.into_string().unwrap()).filter(|name| !known.contains(name)).collect()
    }

    /// What the workspace has to look like in the end.
    fn left_behind(&self, workspace: &Path) -> Result<(), String> {
        let absent = fs::read_to_string(self.folder.join("after-absent.txt")).unwrap_or_default();
        if let Some(path) = absent.lines().find(|path| workspace.join(path).symlink_metadata().is_ok()) {
            return Err(format!("{path} is there and should not be"));
        }
        holds(&self.folder.join("after"), workspace)
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
        let unused = self.unused();
        if !unused.is_empty() {
            return Err(format!("{unused:?} belong to no step"));
        }
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
        let after = kept.compare(&"after".into(), &after[0]["id"], "afterwards");
        wrong.and(after).and_then(|()| self.left_behind(workspace))
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

/// Whether every file beneath `expected` is beneath `actual`, too, with the same bytes.
fn holds(expected: &Path, actual: &Path) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(expected) else { return Ok(()) };
    for entry in entries.map(|entry| entry.unwrap()) {
        let there = actual.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            holds(&entry.path(), &there)?;
        } else if fs::read(&there).ok() != Some(fs::read(entry.path()).unwrap()) {
            return Err(format!("{} is not there as it should be", there.display()));
        }
    }
    Ok(())
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

/// A workspace with room around it, so that what lands beside it is found.
fn workspace(around: &TempDir) -> PathBuf {
    let workspace = around.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    workspace
}

fn program(args: &[&str], data: &TempDir, workspace: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg("--config").arg(Path::new(CONTRACT).join("server.toml"));
    command.arg("--data-dir").arg(data.path()).arg("--workspace").arg(workspace);
    command.args(["--log", "warn,mainstay=info"]).env_remove("MAINSTAY_STORE");
    command
}

fn run_all(road: &mut dyn Road, workspace: &Path) {
    let all = Fixture::all();
    assert!(all.len() > 60, "only {} fixtures were found", all.len());
    let failures = all
        .iter()
        .filter_map(|fixture| fixture.run(road, workspace).err().map(|reason| format!("{}: {reason}", fixture.name)));
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{} of {} fail:\n  {}", failures.len(), all.len(), failures.join("\n  "));
}

#[test]
fn every_fixture_holds_over_http() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let server = Server::from(program(&["serve", "--listen", "127.0.0.1:0"], &data, &workspace));
    run_all(&mut server.connect(), &workspace);
}

#[test]
fn every_fixture_holds_over_stdio() {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let command = program(&["stdio", "--dialect", "mira"], &data, &workspace);
    run_all(&mut Piped::from(command, data), &workspace);
}

#[test]
fn a_fixture_that_cannot_fail_is_found() {
    let (folder, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fixture = Fixture { name: "x".to_owned(), folder: folder.path().to_owned() };
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for name in ["request-1.json", "response-1.json", "after/a/b"] {
        put(name, "{}");
    }
    assert!(fixture.unused().is_empty());
    for name in ["request-3.json", "response-2.json", "respnse-1.json"] {
        put(name, "{}");
        assert_eq!(fixture.unused(), [name]);
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(fixture.left_behind(workspace.path()).unwrap_err().contains("a/b"));
    fs::create_dir(workspace.path().join("a")).unwrap();
    fs::write(workspace.path().join("a/b"), "{ }").unwrap();
    assert!(fixture.left_behind(workspace.path()).unwrap_err().contains("a/b"));
    fs::write(workspace.path().join("a/b"), "{}").unwrap();
    fixture.left_behind(workspace.path()).unwrap();
    put("after-absent.txt", "c\na/b\n");
    assert!(fixture.left_behind(workspace.path()).unwrap_err().contains("a/b"));
}
