//! What the tests of the engine share.

mod fixture;
mod silent_client;

pub(crate) use fixture::*;
pub(crate) use silent_client::SilentClient;
