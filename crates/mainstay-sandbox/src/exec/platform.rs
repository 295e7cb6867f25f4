//! The implementation of commands for this system.

#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
pub use super::linux::{Child, Sandbox, StopHandle, Terminal};
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
pub(super) use super::linux::{OFF_REMEDY, findings};
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
pub use super::unsupported::{Child, Sandbox, StopHandle, Terminal};
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
pub(super) use super::unsupported::{OFF_REMEDY, findings};
