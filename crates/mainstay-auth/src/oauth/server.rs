//! The authorization server's state.

use mainstay_core::{Principal, Result};
use serde_json::{Value, json};

use super::client_secret::SecretVerifier;
use super::keys::{Key, KeyCache};
use super::status_cache::StatusCache;
use super::token::Issuer;
use crate::Backend;
use crate::failure_limit::FailureLimit;

/// Issues, verifies and revokes access tokens in the name of one issuer. Clients, keys and revocations are in the store,
/// so every replica on that store is the same authorization server; caches and failure counts are per process.
pub struct AuthorizationServer {
    pub(super) backend: Backend,
    pub(super) issuer: Issuer,
    pub(super) keys: KeyCache,
    pub(super) secrets: SecretVerifier,
    pub(super) failures: FailureLimit,
    pub(super) statuses: StatusCache,
}

impl AuthorizationServer {
    /// `issuer` is the origin under which clients reach this server, `audience` the URL its tokens are for.
    pub fn new(backend: Backend, issuer: String, audience: String) -> Self {
        Self {
            backend,
            issuer: Issuer { url: issuer, audience },
            keys: KeyCache::default(),
            secrets: SecretVerifier::default(),
            failures: FailureLimit::default(),
            statuses: StatusCache::default(),
        }
    }

    pub fn issuer(&self) -> &str {
        &self.issuer.url
    }

    pub fn audience(&self) -> &str {
        &self.issuer.audience
    }

    /// The public keys as a JWK set (RFC 7517).
    pub async fn public_keys(&self) -> Result<Value> {
        let keys = self.keys.keys(&self.backend).await?;
        Ok(json!({ "keys": keys.iter().map(Key::jwk).collect::<Vec<_>>() }))
    }

    /// Clients are principals of this issuer: the same client id at another issuer is somebody else.
    pub(super) fn principal(&self, client: &str) -> Principal {
        Principal::new(&self.issuer.url, client)
    }
}
