//! What all replicas have to agree on: keys of the server itself, and values that may be used once.

use super::Database;
use crate::sql::params;
use crate::writer::transaction;
use crate::{Result, StoreError};

/// Secrets that all replicas have to share, such as the key that signs request states; and the nonces that were used.
#[derive(Clone, Copy)]
pub struct Secrets<'s>(pub(crate) &'s Database);

impl Secrets<'_> {
    /// The secret of this name. The first caller on any replica sets it to `candidate`; it never changes after that.
    pub async fn secret(self, name: &str, candidate: Vec<u8>) -> Result<Vec<u8>> {
        let outcome = transaction!(self.0.writer, (name.to_owned(), candidate), |db, (name, candidate)| {
            let insert = "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            db.execute(insert, &params![name, candidate]).await?;
            db.one("SELECT value FROM secret WHERE name = $1", &params![name]).await
        })?;
        outcome.ok_or_else(|| StoreError::failed("a secret that was written cannot be read"))
    }

    /// True for the first caller on any replica, false ever after. It may be forgotten after `expires_ms`.
    pub async fn claim_nonce(self, nonce: &str, expires_ms: i64) -> Result<bool> {
        let sql = "INSERT INTO nonce (nonce, expires_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        Ok(self.0.writer.change(sql, params![nonce, expires_ms]).await? > 0)
    }
}
