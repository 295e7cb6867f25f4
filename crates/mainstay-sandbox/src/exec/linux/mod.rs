//! Commands on Linux: confined by namespaces, Landlock and seccomp.
//!
//! `sandbox.rs` is the entry. `confinement.rs` finds out what the machine can enforce, `mounts/` builds the file tree
//! that commands see, `masks/` finds the protected names to hide in it, and `process/` starts and ends the processes.
//! What runs between fork and exec does not allocate, lock or panic: those functions say so.

mod cgroup;
mod confinement;
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

pub use process::{Child, StopHandle, Terminal};
pub(super) use protections::{OFF_REMEDY, findings};
pub use sandbox::Sandbox;
