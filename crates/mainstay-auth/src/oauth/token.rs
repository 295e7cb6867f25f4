//! Access tokens: JWTs in the profile of RFC 9068, signed with Ed25519.

use std::time::Duration;

use jsonwebtoken::{Algorithm, Header, decode, decode_header, encode};
use mainstay_core::{Error, Result, Scopes, new_id};
use serde::{Deserialize, Serialize};

use super::keys::{self, Key};
use crate::identity::rejection;
use crate::{AuthError, Issuer};

/// How long an access token is valid.
pub const ACCESS_LIFETIME: Duration = Duration::from_hours(24);

/// The `typ` of RFC 9068: no other kind of JWT is accepted as an access token.
const TYPE: &str = "at+jwt";

/// Separates the family from the token's own part in `jti`. Revoking a family revokes all its tokens.
const FAMILY_SEPARATOR: char = '.';

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

/// The claims of a token whose signature, issuer and audience are right. Expiry is checked by the caller. `None` if it
/// is signed with a key that this replica does not know, or not yet.
pub(super) fn decode_claims(issuer: &Issuer, keys: &[Key], token: &str) -> Result<Option<Claims>, AuthError> {
    let header = decode_header(token).map_err(|_| AuthError::invalid("its header cannot be decoded"))?;
    if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(TYPE) {
        return Err(AuthError::invalid("it is not an access token of this server's type"));
    }
    let id = header.kid.filter(|kid| keys::is_key_id(kid));
    let id = id.ok_or_else(|| AuthError::invalid("it names no signing key"))?;
    let Some(key) = keys.iter().find(|key| key.id == id) else { return Ok(None) };
    let mut rules = issuer.validation(Algorithm::EdDSA);
    // The library would read the system's clock; time comes in through `Clock` alone.
    rules.validate_exp = false;
    let decoded = decode::<Claims>(token, &key.public, &rules);
    Ok(Some(decoded.map_err(|error| AuthError::invalid(rejection(&error)))?.claims))
}

/// The instant `lifetime` after `now_ms`.
pub(super) fn after(now_ms: i64, lifetime: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX))
}
