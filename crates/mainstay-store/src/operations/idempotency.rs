//! Idempotency keys: a call with a key has its effect once, whatever crashes in between.

use super::Database;
use crate::sql::{from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

/// A key that a call wants for itself.
#[derive(Debug, Clone)]
pub struct KeyClaim {
    /// Keys are private to their principal.
    pub principal: String,
    pub key: String,
    pub target: String,
    pub args_digest: String,
    pub now_ms: i64,
    pub expires_ms: i64,
}

/// The call that holds a key, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    pub target: String,
    pub args_digest: String,
    pub since_ms: i64,
    /// `None` if the call is running, or was when the server died. It is not run again either way.
    pub outcome: Option<String>,
}

// The condition makes an expired key free again without a second statement.
const CLAIM: &str = "INSERT INTO idempotency (principal, key, target, args_digest, since_ms, expires_ms) \
     VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (principal, key) DO UPDATE SET target = excluded.target, args_digest = excluded.args_digest, \
     outcome = NULL, since_ms = excluded.since_ms, expires_ms = excluded.expires_ms \
     WHERE idempotency.expires_ms <= $5";
const FIND: &str = "SELECT target, args_digest, since_ms, outcome FROM idempotency \
     WHERE principal = $1 AND key = $2 AND expires_ms > $3";

// An outcome is never replaced, and a key whose call has an outcome is never released: a client may have been told
// that outcome already.
const FINISH: &str = "UPDATE idempotency SET outcome = $3 WHERE principal = $1 AND key = $2 AND outcome IS NULL";
const RELEASE: &str = "DELETE FROM idempotency WHERE principal = $1 AND key = $2 AND outcome IS NULL";

/// The idempotency keys of all principals.
#[derive(Clone, Copy)]
pub struct Idempotency<'s>(pub(crate) &'s Database);

impl Idempotency<'_> {
    /// Claims the key, or tells who holds it. `None` if it was free, as an expired key is, and is now held, durably: run
    /// the call.
    pub async fn claim(self, claim: KeyClaim) -> Result<Option<HeldKey>> {
        transaction!(self.0.writer, claim, |db, claim| {
            let KeyClaim { principal, key, target, args_digest, now_ms, expires_ms } = claim;
            let values = params![principal, key, target, args_digest, now_ms, expires_ms];
            if db.execute(CLAIM, &values).await? > 0 {
                return Ok(None);
            }
            let holder = db.one(FIND, &params![principal, key, now_ms]).await?;
            holder.map(Some).ok_or_else(|| StoreError::failed("an idempotency key is neither free nor held"))
        })
    }

    /// The call that holds a key; the key stays as it is.
    pub async fn find(self, principal: &str, key: &str, now_ms: i64) -> Result<Option<HeldKey>> {
        self.0.readers.one(FIND, &params![principal, key, now_ms]).await
    }

    /// Stores the outcome of the call. Resolves once it is on disk.
    pub async fn finish(self, principal: &str, key: &str, outcome: String) -> Result<()> {
        self.0.writer.change(FINISH, params![principal, key, outcome]).await.map(drop)
    }

    /// Frees a key whose call had no effect: it was rejected, or it asked the client a question first.
    pub async fn release(self, principal: &str, key: &str) -> Result<()> {
        self.0.writer.change(RELEASE, params![principal, key]).await.map(drop)
    }
}

from_columns!(HeldKey { target, args_digest, since_ms, outcome });
