//! End-to-end tests: the real `mainstay-conformance`, driven from outside over its real transports, with its probe tools.
#![expect(clippy::disallowed_methods, reason = "these tests start the program they test")]
#![expect(clippy::unwrap_used, reason = "in a test a surprise is a failure")]

mod access;
mod agents;
mod consent;
mod dialect;
mod durability;
mod http2;
mod mcp;
mod mira;
mod policy;
mod slow_reader;
mod testing;
mod toolkit;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mainstay-conformance");
