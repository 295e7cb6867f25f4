//! What the tests of the engine share.

mod fixture;

pub(crate) use fixture::*;
