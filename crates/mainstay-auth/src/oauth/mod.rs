//! The OAuth authorization server: clients authenticate with a secret and get access tokens for this server alone.
//!
//! `server.rs` has the state and verifies tokens, `grant.rs` issues and revokes them, `clients.rs` is what an operator
//! does. Nothing here knows HTTP.

mod audit;
mod client_secret;
mod clients;
mod error;
mod grant;
mod keys;
mod server;
#[cfg(test)]
mod tests;
mod token;

pub use client_secret::ClientCredentials;
pub use clients::{ClientRegistry, NewClient, OldKeys, RegisteredClient};
pub use error::{OAuthError, OAuthErrorKind};
pub use grant::{Grant, IssuedTokens};
pub use server::AuthorizationServer;
pub use token::ACCESS_LIFETIME;
