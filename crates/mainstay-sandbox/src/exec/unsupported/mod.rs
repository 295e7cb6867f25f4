//! Systems without anything to confine a command with: it is refused, unless the operator has switched the sandbox off.

mod child;
mod sandbox;
#[cfg(test)]
mod tests;

pub use child::{Child, StopHandle, Terminal};
pub use sandbox::Sandbox;
pub(super) use sandbox::{OFF_REMEDY, findings};
