//! OAuth clients, and the tokens that must be remembered.

use mainstay_core::BoxFuture;

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    pub name: String,
    /// A password hash; the secret itself is never stored.
    pub secret_hash: String,
    /// Space-separated, as OAuth writes them.
    pub scopes: String,
    pub created_ms: i64,
    pub disabled: bool,
}

/// A refresh token, known here by its hash alone. Those that came from each other are a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRefresh {
    pub hash: String,
    pub family: String,
    pub client: String,
    pub subject: String,
    pub scopes: String,
    pub now_ms: i64,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    pub family: String,
    pub client: String,
    pub subject: String,
    pub scopes: String,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// The old one is spent and its successor stored, in one step. This is what the old one stood for.
    Rotated(Refresh),
    /// It had been spent before: somebody has a stolen copy, and the whole family is revoked now, as by
    /// [`OAuth::revoke_family`] until the time at which the successor would have expired.
    Reused { family: String },
    /// Never issued, expired, revoked, or another client's.
    Unknown,
}

pub trait OAuth: Send + Sync {
    /// Fails if the id is taken.
    fn add_client(&self, client: Client) -> BoxFuture<'_, Result<()>>;
    fn client(&self, id: &str) -> BoxFuture<'_, Result<Option<Client>>>;
    fn clients(&self) -> BoxFuture<'_, Result<Vec<Client>>>;
    /// Disables the client and revokes every token family of it; false if there is none.
    fn disable_client(&self, id: &str) -> BoxFuture<'_, Result<bool>>;

    /// What a refresh token of this client stands for, whether or not it is still good.
    fn refresh(&self, hash: &str, client: &str) -> BoxFuture<'_, Result<Option<Refresh>>>;
    fn issue_refresh(&self, token: NewRefresh) -> BoxFuture<'_, Result<()>>;
    /// Spends `old` for `client`; the successor keeps the family, client, subject and scopes of the old one, whatever it says.
    fn rotate_refresh(
        &self,
        old_hash: &str,
        client: &str,
        successor_hash: &str,
        now_ms: i64,
        expires_ms: i64,
    ) -> BoxFuture<'_, Result<Rotation>>;
    /// Revokes the refresh tokens of a family and, in the same step, the family's name among the access tokens, which is
    /// remembered until `until_ms`.
    fn revoke_family(&self, family: &str, until_ms: i64) -> BoxFuture<'_, Result<()>>;

    /// Remembers a revoked access token until it would have expired.
    fn revoke_access(&self, jti: &str, expires_ms: i64) -> BoxFuture<'_, Result<()>>;
    fn is_access_revoked(&self, jti: &str) -> BoxFuture<'_, Result<bool>>;

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
