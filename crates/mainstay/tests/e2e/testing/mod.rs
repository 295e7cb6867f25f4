//! What the end-to-end tests share: the program, plain clients, fixtures of the contracts, a fake server.

pub(crate) mod context_caches;
pub(crate) mod fake_server;
pub(crate) mod fixture;
pub(crate) mod matching;
pub(crate) mod postgres;
#[expect(dead_code, reason = "shared with the tests of mainstay-conformance, which use the rest")]
pub(crate) mod program;
