//! The protections of a command, in words, and what this machine can enforce, for `mainstay doctor`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Command, ExecSettings, Sandbox, SandboxMode, platform};
use crate::workspace::Workspace;

/// What was in force, and in parentheses what enforced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// namespaces, landlock or off.
    pub level: String,
    /// Which files could be read and written.
    pub filesystem: String,
    pub network: String,
    /// Which processes the command could see and signal, and when its own end.
    pub processes: String,
    pub privileges: String,
    /// Whether files such as .env and .git were hidden.
    pub protected_names: String,
    pub limits: String,
}

/// For everything that the sandbox would protect if it were on.
pub(super) const NONE: &str = "none: sandbox = \"off\"";

/// The limits that every process has, on every system.
pub(super) fn limits_of_each(settings: &ExecSettings) -> String {
    format!("{} open files, files of {} MB, no core dumps", settings.open_files, settings.file_mb)
}

/// Whether one protection is in force, and what to do if it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub enforced: bool,
    pub what: String,
    /// What the operator can do, if it is not enforced.
    pub remedy: Option<&'static str>,
}

impl Finding {
    /// A protection that is in force.
    pub(super) fn good(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, enforced: true, what: what.into(), remedy: None }
    }

    /// A protection that is not in force, with what the operator can do.
    pub(super) fn missing(name: &'static str, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { name, enforced: false, what: what.into(), remedy: Some(remedy) }
    }
}

/// Asks the kernel what it supports, and then runs a command to see that it all works together.
pub async fn diagnose(workspace: &Workspace, settings: &ExecSettings) -> Vec<Finding> {
    if settings.sandbox == SandboxMode::Off {
        let what = "commands run without protection: sandbox = \"off\"";
        return vec![Finding::missing("sandbox", what, platform::OFF_REMEDY)];
    }
    let mut findings = platform::findings();
    let sandbox = Sandbox::new(workspace.clone(), settings.clone());
    match sandbox.protections().await {
        Err(error) => findings.push(Finding::missing("commands", error.public, "Without it commands are refused.")),
        Ok(protections) => {
            findings.push(if protections.level == "namespaces" {
                Finding::good("namespaces", "of users, mounts, processes, network, IPC and host names")
            } else {
                Finding::missing(
                    "namespaces",
                    protections.protected_names.clone(),
                    "Allow unprivileged user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, the container's security options).",
                )
            });
            findings.push(Finding::good("limits", protections.limits));
            findings.push(run_trial(&sandbox).await);
        }
    }
    findings
}

async fn run_trial(sandbox: &Sandbox) -> Finding {
    let command = Command { program: "true".into(), ..Command::default() };
    match sandbox.run(&command, None, Duration::from_secs(20), None).await {
        Ok(output) if output.status.code == 0 => Finding::good("commands", "a trial command ran with all protections"),
        Ok(output) => {
            let what = format!("a trial command ended with exit code {}", output.status.code);
            Finding::missing("commands", what, "See the log.")
        }
        Err(error) => Finding::missing("commands", error.public, "Without it commands are refused."),
    }
}
