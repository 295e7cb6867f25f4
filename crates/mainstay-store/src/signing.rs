//! The keys that access tokens are signed with, the same for every replica.

use std::fmt;

use mainstay_core::BoxFuture;

use crate::Result;

#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub id: String,
    /// The private key.
    pub pkcs8: Vec<u8>,
    pub created_ms: i64,
    /// `None` for the one in use.
    pub expires_ms: Option<i64>,
}

/// The private part is nobody's to see.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, pkcs8: _, created_ms, expires_ms } = self;
        f.debug_struct("SigningKey")
            .field("id", id)
            .field("created_ms", created_ms)
            .field("expires_ms", expires_ms)
            .finish_non_exhaustive()
    }
}

pub trait SigningKeys: Send + Sync {
    /// Those whose signatures count, the one in use first.
    fn live(&self, now_ms: i64) -> BoxFuture<'_, Result<Vec<SigningKey>>>;
    /// Puts a key in use if none is. Of many replicas that try at once, one does.
    fn begin(&self, key: SigningKey) -> BoxFuture<'_, Result<bool>>;
    /// Puts a key in use; signatures of the one it replaces, and of those before, count no longer than `until_ms`.
    fn rotate(&self, key: SigningKey, until_ms: i64) -> BoxFuture<'_, Result<()>>;
    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
