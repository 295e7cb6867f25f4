//! Wire formats, without I/O: JSON-RPC framing, and the dialects behind the [`Dialect`] trait.
//!
//! A dialect is a folder here and one line in [`DIALECTS`].

pub mod agents;
pub mod client;
mod content;
pub mod context;
mod dialect;
mod error;
mod id;
mod json;
pub mod jsonrpc;
pub mod mira;
mod reason;
mod request;
pub mod sse;
pub mod testing;

pub use dialect::{Dialect, DialectEntry, Encoded, Endpoint, ServerState, ToolQuery, ToolState};
pub use error::{ErrorResponse, HttpError};
pub use id::{Id, MAX_ID};
pub use json::to_json;
pub use reason::reason;
pub use request::{Operation, Request};

/// The dialects of this server, besides the standard protocol.
pub const DIALECTS: [DialectEntry; 3] = [mira::ENTRY, agents::ENTRY, context::ENTRY];
