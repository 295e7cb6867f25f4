//! The authorization server: a client proves itself with its secret and gets tokens that this server alone accepts.

mod clients;
mod failures;
mod grant;
mod keys;
mod proof;
mod random;
mod refusal;
mod standing;
#[cfg(test)]
mod tests;
mod token;
mod trail;

use std::time::Duration;

use mainstay_core::{Principal, Result, Scopes};
use serde_json::{Value, json};

use crate::Engine;

pub use clients::{Clients, NewClient, OldKeys, Registered};
pub use failures::Failures;
pub use grant::{Grant, Issued};
pub use proof::Proof;
pub use refusal::{Reason, Refusal};
pub use standing::Verdict;

use keys::Keys;
use proof::Bench;
use standing::Standing;

/// How long an access token is good for.
pub const ACCESS_LIFE: Duration = Duration::from_hours(24);

/// How long a refresh token waits to be used.
const REFRESH_LIFE: Duration = Duration::from_hours(24 * 30);

/// Issues tokens in the name of one issuer, and knows its own again. Clients, keys and what was revoked are in the
/// store, so that every replica is the same authority.
pub struct Authority {
    engine: Engine,
    issuer: String,
    audience: String,
    keys: Keys,
    bench: Bench,
    failures: Failures,
    standing: Standing,
}

/// Whom a token stands for, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    pub scopes: Scopes,
    pub expires_ms: i64,
}

impl Authority {
    /// `issuer` is where clients find this server, `audience` the URL tokens are made for.
    pub fn new(engine: &Engine, issuer: String, audience: String) -> Self {
        Self {
            engine: engine.clone(),
            issuer,
            audience,
            keys: Keys::default(),
            bench: Bench::default(),
            failures: Failures::default(),
            standing: Standing::default(),
        }
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The public keys, as a JWK set.
    pub async fn public_keys(&self) -> Result<Value> {
        let ring = self.keys.ring(&self.engine).await?;
        Ok(json!({ "keys": ring.iter().map(keys::Key::public).collect::<Vec<_>>() }))
    }

    fn principal(&self, client: &str) -> Principal {
        Principal::new(&self.issuer, client)
    }

    fn now_ms(&self) -> i64 {
        self.engine.clock().now_ms()
    }
}

fn after(now_ms: i64, life: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(life.as_millis()).unwrap_or(i64::MAX))
}
