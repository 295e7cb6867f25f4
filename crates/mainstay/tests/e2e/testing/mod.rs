//! Helpers of the end-to-end tests: the program as a process, plain clients, contract fixtures, a fake server.

pub(crate) mod context_caches;
pub(crate) mod examples;
pub(crate) mod expected_response;
pub(crate) mod fake_server;
pub(crate) mod fixture;
pub(crate) mod http_exchange;
pub(crate) mod postgres;
#[expect(dead_code, reason = "shared with the tests of mainstay-conformance, which use the rest")]
pub(crate) mod program;
mod tests;
