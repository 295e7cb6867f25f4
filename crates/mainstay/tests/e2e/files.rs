//! Changes of files by the real program: what stops them, what a person is asked about, and what the audit says.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::program::Server;

/// A server on a workspace of its own.
struct Setup {
    server: Server,
    data: TempDir,
    workspace: TempDir,
}

fn program(data: &Path, workspace: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg("--data-dir").arg(data).arg("--workspace").arg(workspace);
    command.env_remove("MAINSTAY_STORE").env_remove("MAINSTAY_CONFIG").env("XDG_CONFIG_HOME", data);
    command
}

impl Setup {
    fn new(settings: &[(&str, &str)]) -> Self {
        let (data, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut command = program(data.path(), workspace.path(), &["serve", "--listen", "127.0.0.1:0"]);
        command.envs(settings.iter().copied());
        Self { server: Server::from(command), data, workspace }
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.server.connect().rpc("/rpc", &[], &message).message()
    }

    /// The consent that a call needs; anything else is a failure.
    fn consent_for(&self, method: &str, params: &Value) -> String {
        let reply = self.call(method, params);
        reply["error"]["data"]["consent_id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    fn run(&self, args: &[&str]) -> String {
        let out = program(self.data.path(), self.workspace.path(), args).stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn approve(&self, id: &str) {
        self.run(&["consent", "approve", id]);
    }

    /// What the audit says about calls of a tool: effect and outcome, newest first.
    fn audit(&self, tool: &str) -> Vec<(String, String)> {
        let rows = self.run(&["audit", "show"]);
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rows.filter(|row| row["target"] == tool && row["phase"] == "ended")
            .map(|row| (text(&row["effect"]), text(&row["outcome"])))
            .collect()
    }
}

#[test]
fn a_copy_that_runs_into_its_deadline_is_not_completed_later() {
    let settings = [("MAINSTAY__ENGINE__LONG_DEADLINE_SECONDS", "1"), ("MAINSTAY__FILES__COPY_BYTES", "1000000000000")];
    let setup = Setup::new(&settings);
    // Nothing but a hole: it takes many seconds to hash and no space.
    let large = std::fs::File::create(setup.workspace.path().join("large")).unwrap();
    large.set_len(64 << 30).unwrap();
    let reply = setup.call("files/copy", &json!({"from": "large", "to": "copy"}));
    let message = reply["error"]["message"].to_string() + &reply["error"]["data"].to_string();
    assert!(message.contains("was stopped. Nothing was changed."), "{reply}");
    assert_eq!(setup.audit("files_copy"), [("writes".to_owned(), "timed_out".to_owned())]);
    // A server that stops waits for the threads that still work.
    setup.server.terminate();
    assert_eq!(setup.server.wait(), 0);
    assert_eq!(std::fs::read_dir(setup.workspace.path()).unwrap().count(), 1, "it was completed after all");
}

#[test]
fn a_consent_to_remove_a_file_does_not_cover_what_took_its_place() {
    let setup = Setup::new(&[]);
    let path = setup.workspace.path().join("notes.txt");
    std::fs::write(&path, "old").unwrap();
    let remove = json!({"path": "notes.txt"});
    let first = setup.consent_for("files/delete", &remove);
    setup.approve(&first);
    std::fs::write(&path, "a day's work").unwrap();
    let second = setup.consent_for("files/delete", &remove);
    assert_ne!(first, second);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a day's work");
    setup.approve(&second);
    let reply = setup.call("files/delete", &remove);
    assert!(reply["result"].is_object() && !path.exists(), "{reply}");
}

#[test]
fn a_file_is_emptied_only_with_the_consent_that_its_removal_needs() {
    let setup = Setup::new(&[]);
    let path = setup.workspace.path().join("notes.txt");
    std::fs::write(&path, "old").unwrap();
    let empty = json!({"path": "notes.txt", "content": "", "overwrite": true});
    let id = setup.consent_for("files/write", &empty);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    setup.approve(&id);
    let reply = setup.call("files/write", &empty);
    assert_eq!(reply["result"]["size"], 0, "{reply}");
}

#[test]
fn a_file_that_other_programs_run_is_changed_with_consent_and_marked_in_the_audit() {
    let setup = Setup::new(&[]);
    let write = json!({"path": ".mcp.json", "content": "{}"});
    let id = setup.consent_for("files/write", &write);
    assert!(!setup.workspace.path().join(".mcp.json").exists());
    setup.approve(&id);
    let reply = setup.call("files/write", &write);
    assert_eq!(reply["result"]["created"], true, "{reply}");
    let marked = |outcome: &str| ("writes auto_run".to_owned(), outcome.to_owned());
    assert_eq!(setup.audit("files_write"), [marked("ok"), marked("consent_required")]);
    let refusing = Setup::new(&[("MAINSTAY__FILES__AUTO_RUN", "refuse")]);
    let reply = refusing.call("files/write", &write);
    assert!(reply["error"].to_string().contains("files.auto_run"), "{reply}");
    let allowing = Setup::new(&[("MAINSTAY__FILES__AUTO_RUN", "allow")]);
    assert_eq!(allowing.call("files/write", &write)["result"]["created"], true);
    assert_eq!(allowing.audit("files_write"), [marked("ok")]);
}
