//! Errors in the configuration of authentication.

use std::net::SocketAddr;

/// Why authentication cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
pub enum AuthConfigError {
    #[error("cannot use the keys in {path}: {reason}")]
    Keys { path: String, reason: String },
    #[error(
        "cannot issue tokens for {0}, an address clients cannot use: set server.auth.audience to this server's URL"
    )]
    Audience(SocketAddr),
    #[error("server.auth.audience is {0:?}, which is not a URL; write it as https://host/mcp")]
    Issuer(String),
}
