//! The dialect `context`: building caches, serving them, and what can go wrong with either.

pub(crate) mod build;
pub(crate) mod concurrent_rebuild;
pub(crate) mod crash;
pub(crate) mod fixtures;
pub(crate) mod framing;
pub(crate) mod hostile_paths;
pub(crate) mod operation;
pub(crate) mod permissions;
pub(crate) mod resources;
pub(crate) mod stdio;
