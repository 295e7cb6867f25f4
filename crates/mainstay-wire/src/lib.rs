//! What travels over a transport, as data. Nothing here reads or writes a socket.

pub mod asking;
pub mod events;
mod id;
pub mod jsonrpc;
pub mod mira;

pub use id::{Id, MAX_ID};
