//! Commands on Linux: confined by namespaces, Landlock and seccomp.
//!
//! `sandbox.rs` is the entry. `confinement.rs` finds out what the machine can enforce, `mounts/` builds the file tree
//! that commands see, `masks/` finds the protected names to hide in it, and `process/` starts and ends the processes.
//! What runs between fork and exec does not allocate, lock or panic: those functions say so.

mod cgroup;
mod child;
mod confinement;
mod diagnostics;
mod failure;
mod landlock;
mod limits;
mod masks;
mod mounts;
mod process;
mod protections;
mod sandbox;
mod seccomp;
mod syscalls;

pub use child::{Child, Terminal};
pub(super) use diagnostics::{OFF_REMEDY, findings};
pub use process::StopHandle;
pub use sandbox::Sandbox;
