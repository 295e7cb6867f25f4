//! The standard endpoint: bad input, sessions, shutdown.

pub(crate) mod bad_input;
pub(crate) mod sessions;
pub(crate) mod shutdown;
