//! The authorization server's state, and verifying the access tokens it issued.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mainstay_core::{Principal, Result, Scope, Scopes};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client_secret::SecretVerifier;
use super::keys::{Key, KeyCache};
use super::token::{Claims, decode_claims};
use crate::{AuthError, Backend, FailureLimit, Identity, Issuer};

/// How long a token stays usable here after another replica revoked it or disabled its client.
const FRESH: Duration = Duration::from_secs(2);

/// Tokens cached at once; further ones are looked up on every request.
const CAPACITY: usize = 10_000;

/// SHA-256 of a token: the tokens themselves are not kept in memory.
type TokenHash = [u8; 32];

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
    /// `issuer` is the origin under which clients reach this server, and the URL its tokens are for.
    pub fn new(backend: Backend, issuer: Issuer) -> Self {
        Self {
            backend,
            issuer,
            keys: KeyCache::default(),
            secrets: SecretVerifier::default(),
            failures: FailureLimit::default(),
            statuses: StatusCache::default(),
        }
    }

    pub fn issuer(&self) -> &Issuer {
        &self.issuer
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

    /// Checks signature, issuer, audience, expiry, revocation and that the client is not disabled.
    pub async fn verify(&self, token: &str) -> Result<Identity, AuthError> {
        let hash = Sha256::digest(token).into();
        let identity = match self.statuses.find(&hash) {
            Some(identity) => identity,
            None => self.look_up(token, hash).await?,
        };
        if identity.expires_ms <= self.backend.now_ms() {
            return Err(AuthError::invalid("it has expired"));
        }
        Ok(identity)
    }

    /// Asks the store. Only valid tokens are cached: an invalid one costs its sender a lookup, and cannot fill the cache.
    async fn look_up(&self, token: &str, hash: TokenHash) -> Result<Identity, AuthError> {
        let start = self.statuses.start_lookup();
        let claims = self.claims(token).await?;
        let store = self.backend.store.oauth();
        if store.is_access_revoked(&claims.jti).await? || store.is_access_revoked(claims.family()).await? {
            return Err(AuthError::invalid("it was revoked"));
        }
        let client = store.client(&claims.client_id).await?.filter(|client| !client.disabled);
        let client = client.ok_or_else(|| AuthError::invalid("its client is disabled"))?;
        let identity = Identity {
            principal: self.principal(&claims.sub),
            scopes: limit_scopes(Scopes::parse(&claims.scope), Scopes::parse(&client.scopes)),
            expires_ms: claims.expires_ms(),
            name: Some(client.name.into()),
        };
        self.statuses.insert(hash, start, identity.clone());
        Ok(identity)
    }

    /// The claims of a token that this server signed.
    pub(super) async fn claims(&self, token: &str) -> Result<Claims, AuthError> {
        let mut claims = decode_claims(&self.issuer, &self.keys.keys(&self.backend).await?, token)?;
        if claims.is_none() {
            claims = decode_claims(&self.issuer, &self.keys.keys_after_unknown(&self.backend).await?, token)?;
        }
        claims.ok_or_else(|| AuthError::invalid("its signing key is unknown"))
    }
}

/// The scopes of a token, as far as its client still has them: taking a scope away from a client takes effect on tokens
/// that were issued before.
pub(super) fn limit_scopes(token: Scopes, client: Scopes) -> Scopes {
    if client.allows(Scope::Admin) { token } else { client.iter().filter(|scope| token.allows(*scope)).collect() }
}

/// Tokens that were found valid a moment ago, so that a request does not have to ask the store.
#[derive(Default)]
pub(super) struct StatusCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    valid: HashMap<TokenHash, (Instant, Identity)>,
    /// Incremented whenever the cache is cleared.
    generation: u64,
}

/// When a lookup began. Its result is as old as this, not as old as the store's reply.
#[derive(Clone, Copy)]
struct LookupStart {
    at: Instant,
    generation: u64,
}

impl StatusCache {
    fn find(&self, token: &TokenHash) -> Option<Identity> {
        self.0.lock().valid.get(token).filter(|(at, _)| is_fresh(*at)).map(|(_, identity)| identity.clone())
    }

    fn start_lookup(&self) -> LookupStart {
        LookupStart { at: Instant::now(), generation: self.0.lock().generation }
    }

    /// Keeps the result of a lookup, unless the cache was cleared since it began: the token may have been revoked
    /// between the store's reply and now.
    fn insert(&self, token: TokenHash, start: LookupStart, identity: Identity) {
        let mut entries = self.0.lock();
        if entries.valid.len() >= CAPACITY {
            entries.valid.retain(|_, (at, _)| is_fresh(*at));
        }
        if entries.valid.len() < CAPACITY && entries.generation == start.generation {
            entries.valid.insert(token, (start.at, identity));
        }
    }

    /// Called after a revocation in this process, which takes effect at once.
    pub(super) fn clear(&self) {
        let mut entries = self.0.lock();
        entries.valid.clear();
        entries.generation += 1;
    }
}

fn is_fresh(at: Instant) -> bool {
    at.elapsed() < FRESH
}
