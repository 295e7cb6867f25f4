//! A client for the nodes of several networks.
//!
//! It knows nothing about the meaning of a method: the caller says whether an answer may be cached and a request repeated.
//! Results are passed through as text, so that fields of newer nodes are kept and large numbers stay exact.
//!
//! - Reads are repeated on rate limits, failed gateways, timeouts and errors of a node that pass: on the next node at once,
//!   on the same one after a random wait or the one that it asks for, and always within the call's deadline.
//! - A request that changes something is sent once at most ([`Client::send_once`]).
//! - API keys in URLs are in no error, log line or `Debug` output; a node is named by its network and host.

mod address;
mod cache;
mod call;
mod client;
mod error;
mod fault;
mod health;
mod message;
mod nodes;
mod observer;
mod retry;
mod settings;
mod single_flight;
#[cfg(test)]
mod tests;
mod transport;

pub(crate) use address::NodeUrl;
pub use address::shown as redacted_url;
pub use cache::CacheUse;
pub use client::{Answer, Client, Query};
pub use error::{RpcError, SendError};
pub use health::{NetworkHealth, NodeHealth};
pub use message::Context;
pub(crate) use message::{ErrorMember, request};
pub use nodes::CircuitState;
pub use observer::{NoObserver, Observer};
pub(crate) use retry::{backoff, retry_after};
pub use settings::{BreakerSettings, ClientSettings, NetworkSettings, RetrySettings, known_network};
pub(crate) use transport::{Transport, innermost};
