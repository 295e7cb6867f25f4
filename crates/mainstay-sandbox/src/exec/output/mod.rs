//! The output of commands: the pipes it comes through, what is kept of it, and passing it on while it appears.

pub(super) mod capture;
pub(super) mod forwarder;
pub(super) mod pipes;
