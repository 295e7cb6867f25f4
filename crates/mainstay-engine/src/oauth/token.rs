//! Access tokens: signed statements of who may do what, at this server, until when.

use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use mainstay_core::{Error, Result, Scopes, new_id};
use serde::{Deserialize, Serialize};

use super::keys::{self, Key};
use super::{ACCESS_LIFE, Authority, after};

/// RFC 9068: what says that a token is for access and nothing else.
const KIND: &str = "at+jwt";

/// Between the family of a token and its own part of its name. Whoever revokes the family revokes the token.
const OF: char = '.';

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
    pub(super) fn new(authority: &Authority, client: &str, scopes: Scopes, family: &str) -> Self {
        let now_ms = authority.now_ms();
        Self {
            iss: authority.issuer.clone(),
            sub: client.to_owned(),
            aud: authority.audience.clone(),
            exp: after(now_ms, ACCESS_LIFE) / 1000,
            iat: now_ms / 1000,
            jti: format!("{family}{OF}{}", new_id()),
            scope: scopes.to_string(),
            client_id: client.to_owned(),
        }
    }

    pub(super) fn expires_ms(&self) -> i64 {
        self.exp.saturating_mul(1000)
    }

    pub(super) fn family(&self) -> &str {
        self.jti.split(OF).next().unwrap_or_default()
    }

    pub(super) fn sign(&self, key: &Key) -> Result<String> {
        let header = Header { typ: Some(KIND.into()), kid: Some(key.id.clone()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, self, &key.private).map_err(Error::internal)
    }
}

/// Why a token is not one of ours. It is for the log, not for the one who sent it.
pub(super) enum Flaw {
    /// Signed with a key that is not known here, or not yet.
    UnknownKey,
    Other(String),
}

/// What a token of this authority says, be it expired or not.
pub(super) fn read(authority: &Authority, ring: &[Key], token: &str) -> Result<Claims, Flaw> {
    let other = |error: jsonwebtoken::errors::Error| Flaw::Other(error.to_string());
    // What a stranger wrote is not repeated, not even in the log.
    let foreign = |why: &str| Flaw::Other(why.to_owned());
    let header = decode_header(token).map_err(|_| foreign("it has no header that can be read"))?;
    if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(KIND) {
        return Err(foreign("it is of a kind that no token of this server is"));
    }
    let named = header.kid.filter(|kid| keys::is_name(kid)).ok_or_else(|| foreign("it names no key"))?;
    let key = ring.iter().find(|key| key.id == named).ok_or(Flaw::UnknownKey)?;
    let mut rules = Validation::new(Algorithm::EdDSA);
    rules.set_audience(&[&authority.audience]);
    rules.set_issuer(&[&authority.issuer]);
    rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
    // Our clock tells the time, not the library's.
    rules.validate_exp = false;
    Ok(decode::<Claims>(token, &key.public, &rules).map_err(other)?.claims)
}
