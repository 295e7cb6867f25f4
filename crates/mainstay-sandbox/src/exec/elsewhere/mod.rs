//! Systems that have nothing to confine a command with: it is refused, unless the operator has said that it may run
//! without protection.

pub(super) mod child;
mod group;
mod relay;
pub(super) mod sandbox;
#[cfg(test)]
mod tests;

use mainstay_core::Error;

use super::protections::{NONE, Protections, limits_of_each};
use super::settings::ExecSettings;
use super::survey::Finding;

pub use group::StopHandle;

/// What to do instead of running commands without protection.
pub(super) const INSTEAD_OF_OFF: &str = "To have commands refused, set sandbox = \"on\" in [exec]; to have them \
                                         confined, run the server on Linux.";

/// There is nothing to ask the kernel for.
pub(super) fn findings() -> Vec<Finding> {
    Vec::new()
}

fn refusal() -> Error {
    Error::unavailable(format!(
        "Commands cannot be run: this system ({}) has no Landlock, seccomp or namespaces to confine them with; set \
         exec.sandbox = \"off\" to run commands without protection.",
        std::env::consts::OS
    ))
}

fn protections(settings: &ExecSettings) -> Protections {
    Protections {
        level: "off".into(),
        filesystem: NONE.into(),
        network: NONE.into(),
        processes:
            "those of the command's process group end with the call; one that leaves the group outlives it, and \
                    all of them outlive a server that is killed"
                .into(),
        privileges: "those of the server".into(),
        protected_names: NONE.into(),
        limits: format!("{} (rlimits)", limits_of_each(settings)),
    }
}
