//! Commands that keep running between calls.

pub(crate) mod registry;
pub(crate) mod session;
