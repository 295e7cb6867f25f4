//! Signing keys. They are in the store, the same for every replica, and are rotated without invalidating tokens that
//! were signed before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::{DecodingKey, EncodingKey};
use mainstay_core::{Error, Result, new_id};
use mainstay_store::{SigningKey, Store};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::Backend;

/// How long a replica uses the keys it loaded before it looks for a rotation by another replica.
pub(super) const FRESH: Duration = Duration::from_secs(5);

/// The shortest time between two reloads caused by tokens with an unknown key id.
const UNKNOWN_KEY_RELOAD: Duration = Duration::from_secs(1);

/// The keys in use, cached for [`FRESH`]. The lock is held while the store is read, so that concurrent callers share one
/// read; a valid token that was verified a moment ago needs no key (`StatusCache`).
#[derive(Default)]
pub(super) struct KeyCache(Mutex<Loaded>);

#[derive(Default)]
struct Loaded {
    keys: Arc<[Key]>,
    at: Option<Instant>,
    last_unknown: Option<Instant>,
}

/// A signing key with its public half.
pub(super) struct Key {
    pub(super) id: String,
    pub(super) private: EncodingKey,
    pub(super) public: DecodingKey,
    /// The public half as a JWK encodes it.
    x: String,
}

impl KeyCache {
    /// The valid keys; the first one signs.
    pub(super) async fn keys(&self, backend: &Backend) -> Result<Arc<[Key]>> {
        let mut loaded = self.0.lock().await;
        if loaded.at.is_none_or(|at| at.elapsed() > FRESH) {
            loaded.reload(backend).await?;
        }
        Ok(loaded.keys.clone())
    }

    /// The keys after a token named one that is not among them. It may have been made by another replica a moment ago,
    /// so the store is read again; but key ids can be invented, so it is read at most once per [`UNKNOWN_KEY_RELOAD`].
    pub(super) async fn keys_after_unknown(&self, backend: &Backend) -> Result<Arc<[Key]>> {
        let mut loaded = self.0.lock().await;
        if loaded.last_unknown.is_none_or(|last| last.elapsed() >= UNKNOWN_KEY_RELOAD) {
            loaded.last_unknown = Some(Instant::now());
            loaded.reload(backend).await?;
        }
        Ok(loaded.keys.clone())
    }
}

impl Loaded {
    /// Reads the store. The keys are as old as the beginning of the read.
    async fn reload(&mut self, backend: &Backend) -> Result<()> {
        let at = Instant::now();
        let stored = stored_keys(&backend.store, backend.now_ms()).await?;
        self.keys = stored.iter().map(Key::decode).collect::<Result<_>>()?;
        self.at = Some(at);
        Ok(())
    }
}

/// The first replica that needs a key creates it.
async fn stored_keys(store: &Store, now_ms: i64) -> Result<Vec<SigningKey>> {
    let keys = store.oauth().signing_keys(now_ms).await?;
    if keys.first().is_some_and(|key| key.expires_ms.is_none()) {
        return Ok(keys);
    }
    store.oauth().start_signing_key(generate(now_ms)?).await?;
    Ok(store.oauth().signing_keys(now_ms).await?)
}

/// Whether this has the form of the ids that [`generate`] makes.
pub(super) fn is_key_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

pub(super) fn generate(now_ms: i64) -> Result<SigningKey> {
    let failed = |error: aws_lc_rs::error::Unspecified| Error::internal(format!("no signing key: {error}"));
    let pair = Ed25519KeyPair::generate().map_err(failed)?;
    let pkcs8 = pair.to_pkcs8().map_err(failed)?.as_ref().to_vec();
    Ok(SigningKey { id: new_id(), pkcs8, created_ms: now_ms, expires_ms: None })
}

impl Key {
    fn decode(stored: &SigningKey) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::internal(format!("signing key {}: {error}", stored.id));
        let pair = Ed25519KeyPair::from_pkcs8(&stored.pkcs8).map_err(|error| failed(&error))?;
        let x = BASE64URL.encode(pair.public_key().as_ref());
        Ok(Self {
            id: stored.id.clone(),
            private: EncodingKey::from_ed_der(&stored.pkcs8),
            public: DecodingKey::from_ed_components(&x).map_err(|error| failed(&error))?,
            x,
        })
    }

    /// The public half as a JWK (RFC 8037).
    pub(super) fn jwk(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id, "x": self.x})
    }
}
