//! Wire formats, without I/O: JSON-RPC framing, and the dialects behind the [`Dialect`] trait.
//!
//! A dialect is a folder here and one line in [`DIALECTS`].

pub mod agents;
pub mod client;
mod connection_state;
mod content;
pub mod context;
mod dialect;
mod error;
mod id;
mod id_scanner;
mod json;
pub mod jsonrpc;
pub mod mira;
mod reason;
mod request;
pub mod solana;
pub mod sse;
pub mod testing;
pub mod toolkit;

pub use connection_state::{ConnectionState, Event, InvalidTransition};
pub use dialect::{Dialect, DialectEntry, Encoded, Endpoint, Limits, ServerState, ToolQuery, ToolState};
pub use error::{ErrorResponse, HttpError};
pub use id::{Id, MAX_ID};
pub use id_scanner::IdScanner;
pub use json::to_json;
pub use reason::reason;
pub use request::{Operation, Request};

/// The dialects of this server, besides the standard protocol.
pub const DIALECTS: [DialectEntry; 5] = [mira::ENTRY, agents::ENTRY, context::ENTRY, solana::ENTRY, toolkit::ENTRY];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use mainstay_core::Error;

    use super::*;

    #[test]
    fn a_vector_store_that_is_away_differs_from_anything_else_that_is_away_in_mira_alone() {
        let (store, other) = (Error::vector_store_unavailable("why"), Error::unavailable("why"));
        for (entry, code) in DIALECTS.iter().zip([1010, -32000, -32603, -32603, -32603]) {
            let dialect = (entry.build)(Duration::from_secs(30)).unwrap();
            let response = |error: &Error| dialect.error(error, "vector/search", Timestamp::UNIX_EPOCH);
            let call = |error: &Error| dialect.failed_call(error, "vector/search", Timestamp::UNIX_EPOCH);
            assert_eq!(response(&store).code, code, "{}", entry.name);
            let is_mira = entry.name == mira::NAME;
            assert_eq!(response(&store) != response(&other), is_mira, "{}", entry.name);
            assert_eq!(call(&store) != call(&other), is_mira, "{}", entry.name);
        }
    }
}
