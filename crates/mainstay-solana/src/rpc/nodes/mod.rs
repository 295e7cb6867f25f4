//! The nodes of a network: what is known about each, and which one gets the next request.

mod breaker;
mod budget;
mod network;
mod node;
mod slots;

pub use breaker::CircuitState;
pub(super) use network::{Network, Selection, Tries};
pub(super) use node::{Genesis, Node};
