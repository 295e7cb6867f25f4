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
