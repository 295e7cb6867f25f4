//! Systems without anything to confine a command with: it is refused, unless the operator has switched the sandbox off.

mod child;
mod diagnostics;
mod group;
mod relay;
mod sandbox;
#[cfg(test)]
mod tests;

pub use child::{Child, Terminal};
pub(super) use diagnostics::{OFF_REMEDY, findings};
pub use group::StopHandle;
pub use sandbox::Sandbox;
