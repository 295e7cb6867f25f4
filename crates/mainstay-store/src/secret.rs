//! Keys of the server itself.

use mainstay_core::BoxFuture;

use crate::Result;

pub trait Secrets: Send + Sync {
    /// The secret of this name. The first who asks, on any replica, gives it its value; it never changes after that.
    fn secret(&self, name: &str, candidate: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>>>;
}
