//! Access tokens: JWTs in the profile of RFC 9068, signed with Ed25519.

use std::time::Duration;

use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use mainstay_core::{Error, Result, Scopes, new_id};
use serde::{Deserialize, Serialize};

use super::keys::{self, Key};

/// How long an access token is valid.
pub const ACCESS_LIFETIME: Duration = Duration::from_hours(24);

/// The `typ` of RFC 9068: no other kind of JWT is accepted as an access token.
const TYPE: &str = "at+jwt";

/// Separates the family from the token's own part in `jti`. Revoking a family revokes all its tokens.
const FAMILY_SEPARATOR: char = '.';

/// In whose name tokens are issued, and for which resource.
pub(super) struct Issuer {
    pub(super) url: String,
    pub(super) audience: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    iss: String,
    pub(super) sub: String,
    aud: String,
    exp: i64,
    iat: i64,
    pub(super) jti: String,
    pub(super) scope: String,
    pub(super) client_id: String,
}

impl Claims {
    pub(super) fn new(issuer: &Issuer, now_ms: i64, client: &str, scopes: Scopes, family: &str) -> Self {
        Self {
            iss: issuer.url.clone(),
            sub: client.to_owned(),
            aud: issuer.audience.clone(),
            exp: after(now_ms, ACCESS_LIFETIME) / 1000,
            iat: now_ms / 1000,
            jti: format!("{family}{FAMILY_SEPARATOR}{}", new_id()),
            scope: scopes.to_string(),
            client_id: client.to_owned(),
        }
    }

    pub(super) fn expires_ms(&self) -> i64 {
        self.exp.saturating_mul(1000)
    }

    pub(super) fn family(&self) -> &str {
        self.jti.split(FAMILY_SEPARATOR).next().unwrap_or_default()
    }

    pub(super) fn sign(&self, key: &Key) -> Result<String> {
        let header = Header { typ: Some(TYPE.into()), kid: Some(key.id.clone()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, self, &key.private).map_err(Error::internal)
    }
}

/// Why a token is not one of this server's. For the log only.
pub(super) enum TokenError {
    /// Signed with a key that this replica does not know, or not yet.
    UnknownKey,
    Malformed(String),
}

/// The claims of a token whose signature, issuer and audience are right. Expiry is checked by the caller.
pub(super) fn decode_claims(issuer: &Issuer, keys: &[Key], token: &str) -> Result<Claims, TokenError> {
    // The reason never quotes the token: what an unauthenticated client sent stays out of the log.
    let malformed = |why: &str| TokenError::Malformed(why.to_owned());
    let header = decode_header(token).map_err(|_| malformed("its header cannot be decoded"))?;
    if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(TYPE) {
        return Err(malformed("it is not an access token of this server's type"));
    }
    let id = header.kid.filter(|kid| keys::is_key_id(kid)).ok_or_else(|| malformed("it names no signing key"))?;
    let key = keys.iter().find(|key| key.id == id).ok_or(TokenError::UnknownKey)?;
    let mut rules = Validation::new(Algorithm::EdDSA);
    rules.set_audience(&[&issuer.audience]);
    rules.set_issuer(&[&issuer.url]);
    rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
    // The library would read the system's clock; time comes in through `Clock` alone.
    rules.validate_exp = false;
    let decoded = decode::<Claims>(token, &key.public, &rules);
    Ok(decoded.map_err(|error| TokenError::Malformed(error.to_string()))?.claims)
}

/// The instant `lifetime` after `now_ms`.
pub(super) fn after(now_ms: i64, lifetime: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX))
}
