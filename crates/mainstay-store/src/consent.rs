//! A person's approval of one particular call.

use mainstay_core::BoxFuture;

use crate::Result;

/// What an approval is good for: this caller, this tool, these arguments, under these rules. Nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub principal: String,
    pub target: String,
    pub args_digest: String,
    pub policy: String,
}

#[derive(Debug, Clone)]
pub struct NewConsent {
    pub id: String,
    pub binding: Binding,
    /// What will happen, in words for the person who decides.
    pub summary: String,
    /// The arguments as that person sees them.
    pub arguments: String,
    pub now_ms: i64,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentState {
    Pending,
    Approved,
    Denied,
    /// Approved, and the one call it was for has been made.
    Used,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub id: String,
    pub binding: Binding,
    pub summary: String,
    pub arguments: String,
    pub state: ConsentState,
    pub decided_by: Option<String>,
    /// What whoever decided gave for it.
    pub reason: Option<String>,
    pub created_ms: i64,
    pub expires_ms: i64,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filed {
    /// It waits for a decision, or the one that was pending with the same binding does.
    Waiting(Box<Consent>),
    /// As many requests of this principal wait already as may; this one was not filed.
    TooMany { most: u32 },
}

/// What somebody says to a request.
#[derive(Debug, Clone)]
pub struct Ruling {
    pub id: String,
    pub by: String,
    pub approve: bool,
    pub reason: Option<String>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Recorded,
    /// Somebody was faster; a decision is never changed.
    AlreadyDecided(ConsentState),
    Expired,
    NotFound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The approval was there and is used up now, on disk.
    Approved {
        id: String,
    },
    /// Asked already and not decided: the same request, not a second one.
    Pending {
        id: String,
        expires_ms: i64,
    },
    Denied {
        id: String,
    },
    /// Nobody has been asked, or it was used up or has expired.
    None,
}

pub trait Consents: Send + Sync {
    /// Files a request, or returns the pending one with the same binding.
    fn request(&self, consent: NewConsent) -> BoxFuture<'_, Result<Filed>>;

    fn find(&self, id: &str) -> BoxFuture<'_, Result<Option<Consent>>>;

    /// Those still waiting for a decision, oldest first.
    fn pending(&self, now_ms: i64, limit: u32) -> BoxFuture<'_, Result<Vec<Consent>>>;

    fn decide(&self, ruling: Ruling) -> BoxFuture<'_, Result<Decision>>;

    /// Uses up an approval with exactly this binding, in one step: of two calls at once, one gets it.
    fn take(&self, binding: Binding, now_ms: i64) -> BoxFuture<'_, Result<Taken>>;

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
