//! Transports. This crate turns bytes into calls of the engine and the engine's outcomes into bytes; what a call may
//! do is decided behind it, the same for every transport.

mod agents;
pub mod client;
mod connection;
mod context;
mod headers;
mod http;
mod mcp;
mod mira;
mod settings;
mod stdio;

pub use http::{Access, Bound, Operation, Route, bind, openapi, routes};
pub use settings::ServerSettings;
pub use stdio::{Dialect, serve_stdio};

/// What the server says of itself.
#[derive(Debug, Clone)]
pub struct About {
    pub version: &'static str,
    /// For the model: what this server is for and how to use it well.
    pub instructions: String,
    /// The names of files that no path may lead to.
    pub protected: Vec<String>,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {reason}. Choose another address with {setting}, or stop what uses this one")]
    Listen { address: std::net::SocketAddr, setting: &'static str, reason: std::io::Error },
    #[error(
        "refusing to listen on {0} without authentication: anybody on the network could use it. Listen on 127.0.0.1, or set [server.auth]"
    )]
    PublicWithoutAuth(std::net::SocketAddr),
    #[error("standard output cannot be written to: {0}")]
    Output(#[from] std::io::Error),
    #[error(transparent)]
    Auth(#[from] mainstay_auth::AuthConfigError),
    #[error("the schemas of the dialect mira cannot be used: {0}")]
    Contract(String),
    #[error("{0:?} cannot be an allowed host or origin: {1}")]
    Allowed(String, &'static str),
}
