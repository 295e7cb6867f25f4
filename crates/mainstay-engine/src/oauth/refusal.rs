//! Why the authorization server says no.

use std::borrow::Cow;

use mainstay_core::{Error, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Something is missing, doubled or of another shape.
    Request,
    /// No such client, a wrong secret, or a client that was disabled: which of them is not said.
    Client,
    /// The refresh token is not good.
    Grant,
    /// A kind of grant this server does not have.
    GrantType,
    /// A scope that does not exist, or that the client does not have.
    Scope,
    /// A token for another server.
    Target,
    /// Too many failures from there.
    TooMany { retry_after: u64 },
    /// Not now.
    Unavailable,
}

/// The description is for the developer of the client.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub reason: Reason,
    pub description: Cow<'static, str>,
}

impl Refusal {
    pub fn new(reason: Reason, description: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, description: description.into() }
    }

    pub(super) fn unproven() -> Self {
        Self::new(Reason::Client, "There is no such client, its secret is another, or it is disabled.")
    }

    /// The word for it in the audit and the metrics.
    pub(super) fn outcome(&self) -> &'static str {
        let kind = match self.reason {
            Reason::Request | Reason::GrantType | Reason::Target => Kind::Invalid,
            Reason::Client | Reason::Grant => Kind::Unauthorized,
            Reason::Scope => Kind::Denied,
            Reason::TooMany { .. } => Kind::RateLimited,
            Reason::Unavailable => Kind::Unavailable,
        };
        kind.as_str()
    }
}

/// A store that does not answer, or a fault of ours: the client learns that it is not its own.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        tracing::error!(detail = error.detail, "the authorization server failed");
        Self::new(Reason::Unavailable, "The server cannot do this now; try again later.")
    }
}

impl From<mainstay_store::StoreError> for Refusal {
    fn from(error: mainstay_store::StoreError) -> Self {
        Error::from(error).into()
    }
}
