//! What travels over a transport, as data. Nothing here reads or writes a socket.

pub mod agents;
pub mod asking;
mod content;
pub mod context;
pub mod events;
mod id;
mod json;
pub mod jsonrpc;
pub mod mira;
mod reason;

pub use id::{Id, MAX_ID};
pub use json::to_json;
pub use reason::reason;
