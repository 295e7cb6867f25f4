//! The keys tokens are signed with: kept in the store, the same on every replica, replaced without a token being lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::{DecodingKey, EncodingKey};
use mainstay_core::{Error, Result, new_id};
use mainstay_store::SigningKey;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::Engine;

/// How long a replica may go on without looking whether the key in use is still the one.
pub(super) const FRESH: Duration = Duration::from_secs(5);

/// How long nobody's unknown key makes the store be asked again.
const SURPRISE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Keys {
    held: ArcSwapOption<Held>,
    /// When somebody last brought a key that was not known.
    surprised: Mutex<Option<Instant>>,
    loading: Mutex<()>,
}

struct Held {
    since: Instant,
    ring: Arc<[Key]>,
}

/// One key, both halves of it.
pub(super) struct Key {
    pub(super) id: String,
    pub(super) private: EncodingKey,
    pub(super) public: DecodingKey,
    /// The public half as a JWK writes it.
    x: String,
}

impl Keys {
    /// Those whose signatures count, the one that signs first.
    pub(super) async fn ring(&self, engine: &Engine) -> Result<Arc<[Key]>> {
        let oldest = Instant::now().checked_sub(FRESH);
        match self.held.load().as_deref() {
            Some(held) if oldest.is_none_or(|oldest| held.since >= oldest) => Ok(held.ring.clone()),
            Some(_) | None => self.ring_of_now(engine).await,
        }
    }

    /// The same after a token with a key that is not known. It may be a new one, so the store is asked; but anybody can
    /// make up names, so it is not asked often.
    pub(super) async fn ring_looked_up(&self, engine: &Engine) -> Result<Arc<[Key]>> {
        let now = Instant::now();
        let lately = {
            let mut surprised = self.surprised.lock().await;
            let lately = surprised.is_some_and(|last| now.duration_since(last) < SURPRISE);
            if !lately {
                *surprised = Some(now);
            }
            lately
        };
        if lately { self.ring(engine).await } else { self.ring_of_now(engine).await }
    }

    /// As the store has them after this was asked: another replica may have a new key since a moment ago. Those who ask
    /// at once are answered by one look.
    pub(super) async fn ring_of_now(&self, engine: &Engine) -> Result<Arc<[Key]>> {
        let asked = Instant::now();
        let _one_at_a_time = self.loading.lock().await;
        if let Some(held) = self.held.load().as_deref().filter(|held| held.since >= asked) {
            return Ok(held.ring.clone());
        }
        let since = Instant::now();
        let ring: Arc<[Key]> = stored(engine).await?.iter().map(Key::read).collect::<Result<Vec<_>>>()?.into();
        self.held.store(Some(Arc::new(Held { since, ring: ring.clone() })));
        Ok(ring)
    }
}

/// The first replica that needs a key makes it.
async fn stored(engine: &Engine) -> Result<Vec<SigningKey>> {
    let (store, now_ms) = (engine.store().signing_keys(), engine.clock().now_ms());
    let keys = store.valid(now_ms).await?;
    if keys.first().is_some_and(|key| key.expires_ms.is_none()) {
        return Ok(keys);
    }
    store.start(make(now_ms)?).await?;
    Ok(store.valid(now_ms).await?)
}

/// Whether this is what a key of ours could be called.
pub(super) fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

pub(super) fn make(now_ms: i64) -> Result<SigningKey> {
    let failed = |error: aws_lc_rs::error::Unspecified| Error::internal(format!("no signing key: {error}"));
    let pair = Ed25519KeyPair::generate().map_err(failed)?;
    let pkcs8 = pair.to_pkcs8().map_err(failed)?.as_ref().to_vec();
    Ok(SigningKey { id: new_id(), pkcs8, created_ms: now_ms, expires_ms: None })
}

impl Key {
    fn read(stored: &SigningKey) -> Result<Self> {
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

    pub(super) fn public(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id, "x": self.x})
    }
}
