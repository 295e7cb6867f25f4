//! A request for consent as people see it, and why one is not shown or decided.

use std::net::IpAddr;

use mainstay_core::{Caller, Error, Kind};
use mainstay_store::{ConsentState, StoreError};
use serde::Serialize;

/// The URL path of a consent request; its id follows.
pub const CONSENT_PATH: &str = "/api/mcp/consent/";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsentStatus {
    Pending,
    Approved,
    Denied,
    /// Approved, and the call was made. An approval is good for one call.
    Used,
    Expired,
}

impl ConsentStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }

    pub(super) fn new(state: ConsentState, expired: bool) -> Self {
        match state {
            ConsentState::Pending | ConsentState::Approved if expired => Self::Expired,
            ConsentState::Pending => Self::Pending,
            ConsentState::Approved => Self::Approved,
            ConsentState::Denied => Self::Denied,
            ConsentState::Used => Self::Used,
        }
    }
}

/// A consent request for display. Programs read it as JSON, so the names of the fields stay.
#[derive(Debug, Clone, Serialize)]
pub struct ConsentView {
    #[serde(rename = "consent_id")]
    pub id: String,
    pub status: ConsentStatus,
    /// The tool's listed name.
    pub operation: String,
    /// One sentence: who wants to run what.
    pub summary: String,
    /// The call's arguments as indented JSON, with secrets replaced.
    pub arguments: String,
    pub requested_by: String,
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// In ISO 8601.
    pub expires_at: String,
}

/// Why a consent request is not shown or not decided.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// Also the answer to a caller who may not see it: whether it exists is not revealed.
    #[error("There is no consent request {0:?}, or you may not see it.")]
    NotFound(String),
    #[error("This request is already decided: it is {}.", .0.as_str())]
    Decided(ConsentStatus),
    #[error("This request has expired. Make the call again to get a new one.")]
    Expired,
    #[error("{0}")]
    NotAllowed(String),
    #[error("{0}")]
    Failed(#[from] Error),
}

impl ConsentError {
    /// The same as an error of the core, for the audit.
    pub fn to_error(&self) -> Error {
        match self {
            Self::NotFound(_) => Error::not_found(self.to_string()),
            Self::Decided(_) | Self::Expired => Error::new(Kind::Conflict, self.to_string()),
            Self::NotAllowed(_) => Error::denied(self.to_string()),
            Self::Failed(error) => error.clone(),
        }
    }
}

impl From<StoreError> for ConsentError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Who decides, as the audit names them.
#[derive(Debug, Clone)]
pub struct Decider {
    pub name: String,
    pub ip: Option<IpAddr>,
}

impl From<&Caller> for Decider {
    fn from(caller: &Caller) -> Self {
        Self { name: caller.principal.to_string(), ip: caller.ip }
    }
}
