//! What is said about commands that nothing can confine.

use mainstay_core::Error;

use crate::exec::finding::Finding;
use crate::exec::protections::{NONE, Protections, limits_of_each};
use crate::exec::settings::ExecSettings;

/// What to do instead of running commands without protection.
pub(crate) const OFF_REMEDY: &str = "To have commands refused, set sandbox = \"on\" in [exec]; to have them \
                                         confined, run the server on Linux.";

/// There is nothing to ask the kernel for.
pub(crate) fn findings() -> Vec<Finding> {
    Vec::new()
}

/// The error for every command while the sandbox is not switched off.
pub(super) fn refusal() -> Error {
    Error::unavailable(format!(
        "Commands cannot be run: this system ({}) has no Landlock, seccomp or namespaces to confine them with; set \
         exec.sandbox = \"off\" to run commands without protection.",
        std::env::consts::OS
    ))
}

/// What applies to a command that nothing confines.
pub(super) fn protections(settings: &ExecSettings) -> Protections {
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
