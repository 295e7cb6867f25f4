//! What the kernel has, asked of the kernel itself.

use super::sys;

/// What this kernel can enforce, before anything is set up.
pub(crate) struct Kernel {
    /// The version of Landlock, if it is switched on.
    pub(crate) landlock: Option<i64>,
    pub(crate) seccomp: bool,
}

pub(crate) fn kernel() -> Kernel {
    Kernel { landlock: sys::landlock_version().ok(), seccomp: sys::has_filters() }
}
