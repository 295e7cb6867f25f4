//! Who is calling, and what they may do.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

string_enum! {
    /// What a caller may do. A tool's effect says which one it needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Scope {
        Read = "read",
        Write = "write",
        Execute = "execute",
        Delete = "delete",
        /// Deciding on other callers' consent requests.
        Consent = "consent",
        /// Everything.
        Admin = "admin",
    }
}

impl Scope {
    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A set of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Reads the space-separated form of OAuth; words that are not scopes of ours are left out.
    pub fn parse(words: &str) -> Self {
        words
            .split_ascii_whitespace()
            .filter_map(|word| Scope::ALL.into_iter().find(|scope| scope.as_str() == word))
            .collect()
    }

    /// Admin holds every scope.
    pub fn allows(self, scope: Scope) -> bool {
        self.0 & (scope.bit() | Scope::Admin.bit()) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Scope::as_str).collect();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

/// The identity everything is bound to: sessions, consents, idempotency keys, tasks, limits.
///
/// Issuer and subject together, so that a refreshed token is the same principal and two issuers never mix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The person at this machine, when the server runs without authentication.
    pub fn local() -> Self {
        Self("local".into())
    }

    pub fn new(issuer: &str, subject: &str) -> Self {
        // The issuer is a URL and so has no space: the pair stays unambiguous whatever the subject holds.
        Self(format!("{issuer} {subject}").into())
    }

    /// Whether this is the person at this machine; no issuer can make that name, which has no space in it.
    pub fn is_local(&self) -> bool {
        &*self.0 == "local"
    }

    /// Who it is at its issuer.
    pub fn subject(&self) -> &str {
        self.0.split_once(' ').map_or(&*self.0, |(_, subject)| subject)
    }

    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same text, shared.
    pub fn to_shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone)]
pub struct Caller {
    pub principal: Principal,
    pub scopes: Scopes,
    /// Where the call came from; `None` on stdio.
    pub ip: Option<IpAddr>,
    /// What the operator called it, for people. Nothing is decided by it.
    pub name: Option<Arc<str>>,
}

impl Caller {
    pub fn local(ip: Option<IpAddr>) -> Self {
        Self { principal: Principal::local(), scopes: Scopes::all(), ip, name: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_allows_everything_and_others_only_themselves() {
        let admin: Scopes = [Scope::Admin].into_iter().collect();
        assert!(Scope::ALL.into_iter().all(|scope| admin.allows(scope)));
        let reader = Scopes::parse("read openid");
        assert!(reader.allows(Scope::Read));
        assert!(!reader.allows(Scope::Write));
        assert_eq!(reader.to_string(), "read");
    }
}
