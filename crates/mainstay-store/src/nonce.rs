//! Things that may be used once.

use mainstay_core::BoxFuture;

use crate::Result;

pub trait Nonces: Send + Sync {
    /// True for the first who claims it, on any replica; false ever after. It may be forgotten after `expires_ms`.
    fn claim(&self, nonce: &str, expires_ms: i64) -> BoxFuture<'_, Result<bool>>;

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
