//! What this kernel supports, for `mainstay doctor`.

use super::syscalls;
use crate::exec::finding::Finding;

/// What to do instead of running commands without protection.
pub(crate) const OFF_REMEDY: &str = "Set sandbox = \"on\" in [exec].";

/// What this kernel supports, before anything is set up.
pub(crate) fn findings() -> Vec<Finding> {
    vec![
        match syscalls::landlock_abi() {
            Ok(version) => Finding::good("landlock", format!("version {version}")),
            Err(_) => Finding::missing(
                "landlock",
                "not in this kernel, or disabled",
                "Use Linux 5.13 or newer, with landlock in the kernel's lsm= list.",
            ),
        },
        if syscalls::has_seccomp() {
            Finding::good("seccomp", "system calls can be filtered")
        } else {
            Finding::missing(
                "seccomp",
                "the kernel does not support filters",
                "Use a kernel with CONFIG_SECCOMP_FILTER.",
            )
        },
    ]
}
