//! Transports: the standard protocol (`mcp/`, over the SDK) and the dialects (`dialect/`), each over HTTP and stdio. This
//! crate turns bytes into calls of the engine and results into bytes; what a call may do is decided in the engine.

pub mod client;
mod connection;
mod dialect;
mod headers;
mod http;
mod mcp;
mod memory_limit;
mod settings;
mod stdio;

pub use http::{Access, Bound, CONSENT_QUOTAS, Operation, Route, bind, openapi, routes};
pub use settings::ServerSettings;
pub use stdio::{serve_dialect, serve_stdio};

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
    #[error("the dialect {0} cannot be used: {1}")]
    Dialect(&'static str, String),
    #[error("{0:?} cannot be an allowed host or origin: {1}")]
    Allowed(String, &'static str),
}
