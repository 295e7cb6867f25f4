//! Sessions of the older protocol versions: kept here so that any replica can answer.

use mainstay_core::BoxFuture;

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub principal: String,
    pub dialect: String,
    /// Whatever the dialect needs to go on with it, as JSON.
    pub state: String,
    pub created_ms: i64,
    pub expires_ms: i64,
}

pub trait Sessions: Send + Sync {
    /// Fails if the id is taken.
    fn open(&self, session: Session) -> BoxFuture<'_, Result<()>>;

    /// A session that has expired is not found.
    fn find(&self, id: &str, now_ms: i64) -> BoxFuture<'_, Result<Option<Session>>>;

    /// Keeps it alive until then; false if it is gone.
    fn extend(&self, id: &str, expires_ms: i64) -> BoxFuture<'_, Result<bool>>;

    /// False if it was gone already.
    fn close(&self, id: &str) -> BoxFuture<'_, Result<bool>>;

    /// How many are alive, for one principal or for all.
    fn count(&self, principal: Option<&str>, now_ms: i64) -> BoxFuture<'_, Result<u64>>;

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
