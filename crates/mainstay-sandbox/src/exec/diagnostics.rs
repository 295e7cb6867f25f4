//! Examines what this machine can enforce, for `mainstay doctor`.

use std::time::Duration;

use super::{Command, ExecSettings, Finding, Sandbox, SandboxMode, platform};

use crate::workspace::Workspace;

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
