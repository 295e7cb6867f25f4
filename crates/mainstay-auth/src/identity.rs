//! What a token says about its bearer, or why it says nothing.

use std::sync::Arc;

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
    /// The reason is for the log only; the client is told nothing but that the token is invalid.
    #[error("{0}")]
    InvalidToken(String),
    /// The store cannot be asked, so the token is neither valid nor invalid.
    #[error(transparent)]
    Unavailable(#[from] Error),
}

impl AuthError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidToken(reason.into())
    }
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}
