//! The dialect `mira`, and the command-line client for remote servers.

pub(crate) mod fixtures;
pub(crate) mod remote_client;
pub(crate) mod rules;
pub(crate) mod transports;
