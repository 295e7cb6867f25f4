//! Errors of the authorization server, as RFC 6749 section 5.2 distinguishes them. HTTP statuses and the protocol's own
//! error codes are added by the server.

use std::borrow::Cow;

use mainstay_core::{Error, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthErrorKind {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// Unknown client, wrong secret or disabled client. Which of these it was is not revealed.
    InvalidClient,
    /// The refresh token is not valid.
    InvalidGrant,
    /// A grant type that this server does not support.
    UnsupportedGrantType,
    /// A scope that does not exist, or that the client does not have.
    InvalidScope,
    /// A token for another resource (RFC 8707).
    InvalidTarget,
    /// Too many failed attempts from this address.
    TooManyFailures { retry_after: u64 },
    /// The store does not answer, or too many requests wait.
    Unavailable,
}

/// A rejected request. The description is for the developer of the client and contains nothing that the client sent
/// as a secret.
#[derive(Debug, Clone)]
pub struct OAuthError {
    pub kind: OAuthErrorKind,
    pub description: Cow<'static, str>,
}

impl OAuthError {
    pub fn new(kind: OAuthErrorKind, description: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, description: description.into() }
    }

    /// The same error for every way in which authentication of a client fails.
    pub(super) fn invalid_client() -> Self {
        Self::new(
            OAuthErrorKind::InvalidClient,
            "Client authentication failed: unknown client, wrong secret, or disabled client.",
        )
    }

    /// The outcome recorded in the audit and the metrics.
    pub(super) fn outcome(&self) -> &'static str {
        let kind = match self.kind {
            OAuthErrorKind::InvalidRequest | OAuthErrorKind::UnsupportedGrantType | OAuthErrorKind::InvalidTarget => {
                Kind::Invalid
            }
            OAuthErrorKind::InvalidClient | OAuthErrorKind::InvalidGrant => Kind::Unauthorized,
            OAuthErrorKind::InvalidScope => Kind::Denied,
            OAuthErrorKind::TooManyFailures { .. } => Kind::RateLimited,
            OAuthErrorKind::Unavailable => Kind::Unavailable,
        };
        kind.as_str()
    }
}

/// The server's own fault: the detail goes to the log, the client is told to retry. A parameter that the store cannot
/// hold is the client's fault, and the message says what is wrong with it.
impl From<Error> for OAuthError {
    fn from(error: Error) -> Self {
        if error.kind == Kind::Invalid {
            return Self::new(OAuthErrorKind::InvalidRequest, error.public);
        }
        tracing::error!(detail = error.detail, "the authorization server failed");
        Self::new(OAuthErrorKind::Unavailable, "The authorization server is temporarily unavailable. Try again later.")
    }
}

impl From<mainstay_store::StoreError> for OAuthError {
    fn from(error: mainstay_store::StoreError) -> Self {
        Error::from(error).into()
    }
}
