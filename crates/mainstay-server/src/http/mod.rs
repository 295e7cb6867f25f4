//! HTTP. `routes.rs` is the table of routes, `listener.rs` accepts connections and stops them; a folder or file for each
//! group of handlers.
//!
//! A request gets its id (`service.rs`), passes the guard of Host and Origin headers (`guard.rs`), then the token check of
//! its route (`auth.rs`), then its handler. `connection_limit.rs` and `body_memory.rs` limit what all connections take
//! together, `http2/` what one of HTTP/2 does. What a call may do is not decided here but in the engine.

mod api;
mod auth;
mod body;
mod body_memory;
mod connection_limit;
mod consent;
mod dialect;
mod guard;
mod http2;
mod listener;
mod mcp;
mod oauth;
mod openapi;
mod operator;
mod request_headers;
mod route;
mod routes;
mod service;
mod ws;

pub use consent::CONSENT_QUOTAS;
pub use listener::{Bound, bind};
pub use openapi::openapi;
pub use route::{Access, Operation};
pub use routes::{Route, routes};
