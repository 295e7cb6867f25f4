//! The dialect `agents` and its tools on the program as it ships.

pub(crate) mod concurrent_logging;
pub(crate) mod examples;
pub(crate) mod fixtures;
pub(crate) mod standard_endpoint;
mod team;
