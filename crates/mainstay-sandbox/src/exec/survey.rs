//! What this machine can enforce, and what to do about what it cannot.

use super::command::Command;
use super::sandbox::Sandbox;
use super::settings::{ExecSettings, SandboxMode};
use super::system;
use crate::Workspace;

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub enforced: bool,
    pub what: String,
    /// What to do about it, if it is not enforced.
    pub remedy: Option<&'static str>,
}

pub(crate) fn good(name: &'static str, what: impl Into<String>) -> Finding {
    Finding { name, enforced: true, what: what.into(), remedy: None }
}

pub(crate) fn missing(name: &'static str, what: impl Into<String>, remedy: &'static str) -> Finding {
    Finding { name, enforced: false, what: what.into(), remedy: Some(remedy) }
}

/// Asks the kernel, and then runs a command to see that it all works together.
pub async fn diagnose(workspace: &Workspace, settings: &ExecSettings) -> Vec<Finding> {
    if settings.sandbox == SandboxMode::Off {
        return vec![missing("sandbox", "commands run without protection: sandbox = \"off\"", system::INSTEAD_OF_OFF)];
    }
    let mut findings = system::findings();
    let sandbox = Sandbox::new(workspace.clone(), settings.clone());
    match sandbox.protections().await {
        Err(error) => findings.push(missing("commands", error.public, "Without it commands are refused.")),
        Ok(protections) => {
            findings.push(if protections.level == "namespaces" {
                good("namespaces", "of users, mounts, processes, network, IPC and host names")
            } else {
                missing(
                    "namespaces",
                    protections.protected_names.clone(),
                    "Allow unprivileged user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, the container's security options).",
                )
            });
            findings.push(good("limits", protections.limits));
            findings.push(trial(&sandbox).await);
        }
    }
    findings
}

async fn trial(sandbox: &Sandbox) -> Finding {
    let command = Command { program: "true".into(), ..Command::default() };
    match sandbox.run(&command, None, std::time::Duration::from_secs(20), None).await {
        Ok(finished) if finished.status.code == 0 => good("commands", "a trial command ran inside of all this"),
        Ok(finished) => {
            missing("commands", format!("a trial command ended with {}", finished.status.code), "Look at the log.")
        }
        Err(error) => missing("commands", error.public, "Without it commands are refused."),
    }
}
