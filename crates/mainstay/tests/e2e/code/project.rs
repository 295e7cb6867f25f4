//! A repository in a workspace, and the server that analyses it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::program::Server;

pub(super) struct Project {
    pub(super) data: TempDir,
    pub(super) workspace: TempDir,
}

impl Project {
    pub(super) fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap(), workspace: tempfile::tempdir().unwrap() }
    }

    pub(super) fn with_repository() -> Self {
        let project = Self::new();
        project.git("", &["init", "-q", "-b", "main"]);
        project
    }

    pub(super) fn write(&self, path: impl AsRef<Path>, content: &[u8]) {
        let path = self.workspace.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs git as a person would, without the machine's configuration; it must succeed.
    pub(super) fn git(&self, author: &str, args: &[&str]) -> Vec<u8> {
        let Output { status, stdout, stderr } = Command::new("git")
            .args(args)
            .current_dir(self.workspace.path())
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .envs([("GIT_AUTHOR_NAME", author), ("GIT_AUTHOR_EMAIL", "a@example.org")])
            .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.org")])
            .output()
            .unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        stdout
    }

    pub(super) fn commit(&self, author: &str) {
        self.git("", &["add", "-A"]);
        self.git(author, &["commit", "-q", "--allow-empty", "-m", "change"]);
    }

    /// `mainstay analyze` in the project's directory.
    pub(super) fn analyze_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("analyze").args(args).arg("--data-dir").arg(self.data.path()).current_dir(self.workspace.path());
        command.env_remove("MAINSTAY_CONFIG").env("XDG_CONFIG_HOME", self.data.path()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end: exit code, standard output, standard error.
    pub(super) fn analyze(&self, args: &[&str]) -> (i32, String, String) {
        let out = self.analyze_command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
    }

    pub(super) fn server(&self, more: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(more);
        command.arg("--data-dir").arg(self.data.path()).arg("--workspace").arg(self.workspace.path());
        command.env_remove("MAINSTAY_STORE").env_remove("MAINSTAY_CONFIG").env("XDG_CONFIG_HOME", self.data.path());
        command.envs(environment.iter().copied());
        Server::from(command)
    }
}

/// A function with so many conditions one after the other.
pub(super) fn busy(name: &str, conditions: usize) -> String {
    format!("fn {name}(x: u32) {{\n{}}}\n", "    if x > 1 { g(); }\n".repeat(conditions))
}

/// The report in the result of a call; a failed call is a failure of the test.
pub(super) fn report(reply: &Value) -> &Value {
    assert!(reply["result"]["isError"] != true && reply["result"]["structuredContent"].is_object(), "{reply}");
    &reply["result"]["structuredContent"]
}

/// The text of a result.
pub(super) fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}
