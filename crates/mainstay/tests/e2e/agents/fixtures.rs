//! Every fixture under contracts/agents, against the real program, on SQLite and PostgreSQL.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::PROGRAM;
use crate::testing::expected_response::Captures;
use crate::testing::fixture::{Fixture, Request, run_all, workspace};
use crate::testing::http_exchange::{compare, exchange};
use crate::testing::postgres::postgres;
use crate::testing::program::Server;

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/agents");

#[test]
fn every_fixture_passes_on_sqlite() {
    check_all(&[]);
}

#[test]
fn every_fixture_passes_on_postgresql() {
    let Some(url) = postgres() else { return };
    check_all(&["--store", &url]);
}

fn check_all(store: &[&str]) {
    let (data, around) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = workspace(&around);
    let program = |args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(args).args(store).args(["--log", "warn,mainstay=info"]);
        command.arg("--data-dir").arg(data.path()).arg("--workspace").arg(&workspace);
        command.env_remove("MAINSTAY_STORE").env("XDG_CONFIG_HOME", data.path());
        command
    };
    let server = Server::from(program(&["serve", "--listen", "127.0.0.1:0"]));
    let all = Fixture::all(CONTRACT);
    assert!(all.len() > 30, "only {} fixtures were found", all.len());
    run_all(&all, |fixture| {
        for client in list(fixture, "clients.json") {
            add_client(program(&["client", "add", "fixture"]), &client)?;
        }
        run(fixture, &server, &workspace)
    });
}

fn list(fixture: &Fixture, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixture.folder.join(file)).unwrap_or_else(|_| "[]".to_owned());
    serde_json::from_str(&text).unwrap()
}

/// Makes a client that gets tokens, with an id and a secret of our own choice.
pub(crate) fn add_client(mut command: Command, client: &Value) -> Result<(), String> {
    let text = |name: &str| client[name].as_str().unwrap().to_owned();
    command.args(["--id", &text("id"), "--scope", &text("scope"), "--secret-stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not want it says why on its standard error.
    let _ = child.stdin.take().unwrap().write_all(text("secret").as_bytes());
    let out = child.wait_with_output().unwrap();
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

fn run(fixture: &Fixture, server: &Server, workspace: &Path) -> Result<(), String> {
    let mut known = vec!["clients.json".to_owned()];
    known.extend(fixture.steps().iter().map(|suffix| format!("events{suffix}.json")));
    let unused = fixture.unused(&known.iter().map(String::as_str).collect::<Vec<_>>());
    if !unused.is_empty() {
        return Err(format!("{unused:?} belong to no step"));
    }
    fixture.prepare(workspace);
    let events = |suffix: &str| list(fixture, &format!("events{suffix}.json"));
    let listens = fixture.steps().iter().any(|suffix| !events(suffix).is_empty());
    let mut listener = if listens { Some(Listener::open(server.address)?) } else { None };
    let mut http = server.connect();
    let mut captures = Captures::new(Path::new(CONTRACT));
    for suffix in fixture.steps() {
        let Some(Request::Message(request)) = fixture.request(&suffix) else {
            return Err(format!("request{suffix} is not JSON"));
        };
        let expected = fixture.response(&suffix).pop().ok_or_else(|| format!("there is no response{suffix}"))?;
        let actual = exchange(&mut http, &captures.fill(request));
        compare(&mut captures, &expected, &actual, &format!("answer{suffix}"))?;
        if let Some(listener) = &mut listener {
            events(&suffix).iter().try_for_each(|event| listener.receives(event, &mut captures))?;
        }
    }
    fixture.check_workspace(workspace)
}

/// A WebSocket that only listens. What a server sends is not masked, so it can be read by hand.
struct Listener(BufReader<TcpStream>);

impl Listener {
    fn open(address: SocketAddr) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(
            stream,
            "GET /ws HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).map_err(|error| format!("/ws: {error}"))?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head);
        if head.starts_with("HTTP/1.1 101") { Ok(Self(stream)) } else { Err(format!("/ws: {head}")) }
    }

    /// Waits for this event, whatever else is told meanwhile.
    fn receives(&mut self, expected: &Value, captures: &mut Captures<'_>) -> Result<(), String> {
        let mut others = Vec::new();
        loop {
            let message =
                self.message().map_err(|error| format!("{expected} was not heard: {error}; what was: {others:?}"))?;
            match captures.compare(expected, &message, "event") {
                Ok(()) => return Ok(()),
                Err(difference) => others.push(difference),
            }
        }
    }

    fn message(&mut self) -> std::io::Result<Value> {
        const TEXT: u8 = 1;
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head)?;
            let length = match head[1] {
                126 => u64::from(u16::from_be_bytes(self.take()?)),
                127 => u64::from_be_bytes(self.take()?),
                short => u64::from(short),
            };
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            self.0.read_exact(&mut payload)?;
            if head[0] & 0x0f == TEXT {
                return serde_json::from_slice(&payload).map_err(std::io::Error::other);
            }
        }
    }

    fn take<const N: usize>(&mut self) -> std::io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
