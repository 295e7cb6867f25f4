//! End-to-end tests: the real `mainstay`, driven from outside over its real transports.
#![expect(clippy::disallowed_methods, reason = "these tests start the program they test")]
#![expect(clippy::unwrap_used, reason = "in a test a surprise is a failure")]

mod agents;
mod code;
mod command_line;
mod commands;
mod context;
mod files;
mod own_files;
mod search;
mod solana;
mod templates;
mod testing;
mod toolkit;
mod untrusted_servers;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mainstay");
