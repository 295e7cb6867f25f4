//! What a token says about its bearer, or why it says nothing.

use std::sync::Arc;

use jsonwebtoken::errors::{Error as TokenError, ErrorKind};
use jsonwebtoken::{Algorithm, Validation};
use mainstay_core::{Error, Principal, Scopes};
use mainstay_store::StoreError;

/// The principal a token was issued to, and what the token allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    pub scopes: Scopes,
    pub expires_ms: i64,
    /// What the operator called the client, where this server knows it.
    pub name: Option<Arc<str>>,
}

/// In whose name tokens are issued (`iss`), and for which resource (`aud`).
pub struct Issuer {
    pub url: String,
    pub audience: String,
}

impl Issuer {
    /// What every access token has to say, whoever issued it: from whom, for whom, about whom and until when.
    pub(crate) fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        rules.set_audience(&[&self.audience]);
        rules.set_issuer(&[&self.url]);
        rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        rules
    }
}

/// Why a token does not identify a caller.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("there is no token, and one is required")]
    MissingToken,
    /// The reason is for the log only; the client is told nothing but that the token is invalid. It is a fixed text:
    /// nothing that a token contains can get into the log.
    #[error("{0}")]
    InvalidToken(&'static str),
    /// The store cannot be asked, so the token is neither valid nor invalid.
    #[error(transparent)]
    Unavailable(#[from] Error),
}

impl AuthError {
    pub(crate) const fn invalid(reason: &'static str) -> Self {
        Self::InvalidToken(reason)
    }
}

/// Why the library rejected a token, in our own words: its messages quote parts of the token, such as an unknown `alg`.
pub(crate) fn rejection(error: &TokenError) -> &'static str {
    if let ErrorKind::MissingRequiredClaim(_) = error.kind() {
        return "a required claim is missing or malformed";
    }
    let reasons = [
        (ErrorKind::InvalidSignature, "its signature is not valid"),
        (ErrorKind::ExpiredSignature, "it has expired"),
        (ErrorKind::ImmatureSignature, "it is not valid yet"),
        (ErrorKind::InvalidIssuer, "it has another issuer"),
        (ErrorKind::InvalidAudience, "it is for another audience"),
        (ErrorKind::InvalidAlgorithm, "its algorithm is not allowed"),
    ];
    reasons.iter().find(|(kind, _)| kind == error.kind()).map_or("it cannot be decoded", |(_, reason)| reason)
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}
