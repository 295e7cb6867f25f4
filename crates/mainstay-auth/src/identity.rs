//! What a valid token says about its bearer.

use mainstay_core::{Principal, Scopes};

/// The principal a token was issued to, and what the token allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    pub scopes: Scopes,
    pub expires_ms: i64,
}
