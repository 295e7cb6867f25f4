//! Values that may be used once.

use crate::Result;
use crate::database::Database;
use crate::sql::params;

/// Nonces, shared by all replicas.
#[derive(Clone, Copy)]
pub struct Nonces<'s>(pub(crate) &'s Database);

impl Nonces<'_> {
    /// True for the first caller on any replica, false ever after. It may be forgotten after `expires_ms`.
    pub async fn claim(self, nonce: &str, expires_ms: i64) -> Result<bool> {
        let sql = "INSERT INTO nonce (nonce, expires_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        Ok(self.0.writer.change(sql, params![nonce, expires_ms]).await? > 0)
    }
}
