//! Verifying this server's own access tokens.

use mainstay_core::{Result, Scope, Scopes};
use sha2::{Digest as _, Sha256};

use super::server::AuthorizationServer;
use super::status_cache::TokenHash;
use super::token::{Claims, TokenError, decode_claims};
use crate::Identity;

/// Whether a token is valid now.
pub enum TokenStatus {
    Valid(Identity),
    /// The reason is for the log only; the client is told nothing but that the token is invalid.
    Invalid(String),
}

impl AuthorizationServer {
    /// Checks signature, issuer, audience, expiry, revocation and that the client is not disabled. Fails if the store
    /// cannot be asked: then the token is neither valid nor invalid.
    pub async fn verify(&self, token: &str) -> Result<TokenStatus> {
        let hash = Sha256::digest(token).into();
        let identity = match self.statuses.find(&hash) {
            Some(identity) => Ok(identity),
            None => self.look_up_and_cache(token, hash).await?,
        };
        let identity = match identity {
            Ok(identity) => identity,
            Err(reason) => return Ok(TokenStatus::Invalid(reason)),
        };
        if identity.expires_ms <= self.backend.now_ms() {
            return Ok(TokenStatus::Invalid("it has expired".into()));
        }
        Ok(TokenStatus::Valid(identity))
    }

    /// Only valid tokens are cached: an invalid one costs its sender a lookup, and cannot fill the cache.
    async fn look_up_and_cache(&self, token: &str, hash: TokenHash) -> Result<Result<Identity, String>> {
        let start = self.statuses.start_lookup();
        let found = self.look_up(token).await?;
        if let Ok(identity) = &found {
            self.statuses.insert(hash, start, identity.clone());
        }
        Ok(found)
    }

    /// Asks the store, without the cache.
    async fn look_up(&self, token: &str) -> Result<Result<Identity, String>> {
        let claims = match self.claims(token).await? {
            Ok(claims) => claims,
            Err(reason) => return Ok(Err(reason)),
        };
        let store = self.backend.store.oauth();
        if store.is_access_revoked(&claims.jti).await? || store.is_access_revoked(claims.family()).await? {
            return Ok(Err("it was revoked".into()));
        }
        let client = store.client(&claims.client_id).await?.filter(|client| !client.disabled);
        Ok(client.ok_or_else(|| "its client is disabled".into()).map(|client| Identity {
            principal: self.principal(&claims.sub),
            scopes: limit_scopes(Scopes::parse(&claims.scope), Scopes::parse(&client.scopes)),
            expires_ms: claims.expires_ms(),
        }))
    }

    /// The claims of a token that this server signed, or why it did not.
    pub(super) async fn claims(&self, token: &str) -> Result<Result<Claims, String>> {
        let claims = match decode_claims(&self.issuer, &self.keys.keys(&self.backend).await?, token) {
            Err(TokenError::UnknownKey) => {
                decode_claims(&self.issuer, &self.keys.keys_after_unknown(&self.backend).await?, token)
            }
            claims @ (Ok(_) | Err(TokenError::Malformed(_))) => claims,
        };
        Ok(claims.map_err(|error| match error {
            TokenError::UnknownKey => "its signing key is unknown".into(),
            TokenError::Malformed(reason) => reason,
        }))
    }
}

/// The scopes of a token, as far as its client still has them: taking a scope away from a client takes effect on tokens
/// that were issued before.
pub(super) fn limit_scopes(token: Scopes, client: Scopes) -> Scopes {
    if client.allows(Scope::Admin) { token } else { client.iter().filter(|scope| token.allows(*scope)).collect() }
}
