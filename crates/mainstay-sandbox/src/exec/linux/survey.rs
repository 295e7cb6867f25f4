//! What the kernel has, asked of the kernel itself.

use super::sys;
use crate::exec::survey::{Finding, good, missing};

/// What to do instead of running commands without protection.
pub(crate) const INSTEAD_OF_OFF: &str = "Set sandbox = \"on\" in [exec].";

/// What this kernel can enforce, before anything is set up.
pub(crate) fn findings() -> Vec<Finding> {
    vec![
        match sys::landlock_version() {
            Ok(version) => good("landlock", format!("version {version}")),
            Err(_) => missing(
                "landlock",
                "not in this kernel, or switched off",
                "Use Linux 5.13 or newer, with landlock in the kernel's lsm= list.",
            ),
        },
        if sys::has_filters() {
            good("seccomp", "system calls can be filtered")
        } else {
            missing("seccomp", "the kernel takes no filters", "Use a kernel with CONFIG_SECCOMP_FILTER.")
        },
    ]
}
