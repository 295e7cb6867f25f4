//! Every fixture under contracts/toolkit, each on a connection of its own to the real program.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::PROGRAM;
use crate::testing::expected_response::Captures;
use crate::testing::fixture::{Fixture, Request, run_all, workspace};
use crate::testing::program::StdioServer;

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/toolkit");

/// The fixtures from this number on begin on a connection that has been initialized.
const INITIALIZED: &str = "100";

fn server(workspace: &Path) -> StdioServer {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["stdio", "--dialect", "toolkit", "--log", "warn"]).arg("--data-dir").arg(data.path());
    command.arg("--workspace").arg(workspace);
    command.env_remove("MAINSTAY_STORE").env_remove("MAINSTAY_CONFIG").env("XDG_CONFIG_HOME", data.path());
    StdioServer::from(command, data)
}

fn run(fixture: &Fixture) -> Result<(), String> {
    let unused = fixture.unused(&[]);
    if !unused.is_empty() {
        return Err(format!("{unused:?} belong to no step"));
    }
    let around = tempfile::tempdir().unwrap();
    let workspace = workspace(&around);
    fixture.prepare(&workspace);
    let mut server = server(&workspace);
    if fixture.name.as_str() >= INITIALIZED {
        let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {}});
        assert!(server.ask(&hello)["result"].is_object());
    }
    let schemas = Path::new(CONTRACT).join("listed");
    let mut captures = Captures::new(&schemas);
    for suffix in fixture.steps() {
        let request = match fixture.request(&suffix).unwrap() {
            Request::Message(message) => Request::Message(captures.fill(message)),
            bytes @ Request::Bytes(_) => bytes,
        };
        server.write(&request.bytes());
        for expected in fixture.response(&suffix) {
            let actual = server.read().ok_or("the program has ended")?;
            captures.compare(&expected, &actual, &format!("answer{suffix}"))?;
        }
    }
    // A surplus answer to an earlier step would be read now.
    let after = server.ask(&json!({"jsonrpc": "2.0", "id": "after", "method": "no/such"}));
    captures.compare(&Value::from("after"), &after["id"], "afterwards")?;
    fixture.check_workspace(&workspace)
}

#[test]
fn every_fixture_passes() {
    let all = Fixture::all(CONTRACT);
    assert!(all.len() >= 36, "only {} fixtures were found", all.len());
    run_all(&all, run);
}
