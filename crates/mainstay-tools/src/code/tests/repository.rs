//! A git repository in a temporary workspace, made with the git that is installed.

use std::path::Path;
use std::process::Output;

use mainstay_core::{Context, Reply, Result, Tool};
use mainstay_sandbox::exec::ExecSettings;
use serde_json::Value;

use crate::code::analysis::CodeAnalysis;
use crate::setup::CodeSettings;
use crate::testing::SampleWorkspace;

pub(super) struct SampleRepository {
    pub(super) workspace: SampleWorkspace,
    /// Seconds since 1970 of the next commit.
    time: std::cell::Cell<i64>,
}

/// Two days ago, when a sample history begins.
fn start() -> i64 {
    jiff::Timestamp::now().as_second() - 2 * 24 * 60 * 60
}

impl SampleRepository {
    pub(super) fn new() -> Self {
        let repository = Self { workspace: SampleWorkspace::with(&[]), time: start().into() };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(super) fn analysis(&self) -> CodeAnalysis {
        CodeAnalysis::new(self.workspace.workspace(), &ExecSettings::default(), &CodeSettings::default(), None)
    }

    /// Runs git as its user does, without any configuration of the machine; it must succeed.
    pub(super) fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = self.git_as("A U Thor", args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    #[expect(clippy::disallowed_methods, reason = "what git itself says is what the tools are compared with")]
    pub(super) fn git_as(&self, author: &str, args: &[&str]) -> Output {
        let date = format!("@{} +0100", self.time.get());
        std::process::Command::new("git")
            .args(["-c", "commit.gpgsign=false", "-c", "advice.detachedHead=false"])
            .args(args)
            .current_dir(self.workspace.path())
            .env("HOME", self.workspace.path())
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .envs([("GIT_AUTHOR_NAME", author), ("GIT_AUTHOR_EMAIL", "a@example.org")])
            .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.org")])
            .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
            .output()
            .unwrap()
    }

    pub(super) fn write(&self, path: impl AsRef<Path>, content: &[u8]) {
        self.workspace.write(path, content);
    }

    /// Commits everything that has changed.
    pub(super) fn commit(&self, author: &str) {
        self.time.set(self.time.get() + 60);
        self.git(&["add", "-A"]);
        let output = self.git_as(author, &["commit", "-q", "--allow-empty", "-m", "message\n\n1\t1\tnot/a/change"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(super) fn merge(&self, branch: &str) {
        self.time.set(self.time.get() + 60);
        self.git(&["merge", "-q", "--no-ff", "--no-edit", branch]);
    }
}

/// The reply of a tool to these arguments.
pub(super) async fn call<T: Tool<Output = Reply>>(tool: &T, args: Value) -> Result<Reply> {
    tool.call(serde_json::from_value(args).unwrap(), &Context::detached()).await
}

/// The text of a reply.
pub(super) fn text(reply: &Reply) -> &str {
    reply.content.first().and_then(mainstay_core::Block::as_text).unwrap()
}
