//! The keys that access tokens are signed with, the same for every replica.

use super::OAuth;
use crate::sql::{from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

/// Without `Debug`: what can be formatted ends up in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub id: String,
    /// The private key.
    pub pkcs8: Vec<u8>,
    pub created_ms: i64,
    /// `None` for the one in use.
    pub expires_ms: Option<i64>,
}

const VALID: &str = "SELECT id, pkcs8, created_ms, expires_ms FROM signing_key \
     WHERE expires_ms IS NULL OR expires_ms > $1";
// The condition lets one of several replicas succeed that start with an empty database.
const START: &str = "INSERT INTO signing_key (id, pkcs8, created_ms) SELECT $1, $2, $3 \
     WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE expires_ms IS NULL)";
const RETIRE: &str = "UPDATE signing_key SET expires_ms = $1 WHERE expires_ms IS NULL OR expires_ms > $1";

impl OAuth<'_> {
    /// The keys whose signatures are valid, the one in use first.
    pub async fn signing_keys(self, now_ms: i64) -> Result<Vec<SigningKey>> {
        let mut keys: Vec<SigningKey> = self.0.readers.all(VALID, &params![now_ms]).await?;
        keys.sort_by_key(|key| (key.expires_ms.is_some(), std::cmp::Reverse(key.expires_ms)));
        Ok(keys)
    }

    /// Puts a key in use if none is; false if one is. Of many replicas that try at once, one succeeds.
    pub async fn start_signing_key(self, key: SigningKey) -> Result<bool> {
        self.insert_key(key, None).await
    }

    /// Puts a key in use; signatures of the one it replaces, and of those before, are valid until `until_ms` at most.
    pub async fn rotate_signing_key(self, key: SigningKey, until_ms: i64) -> Result<()> {
        let inserted = self.insert_key(key, Some(until_ms)).await?;
        if inserted { Ok(()) } else { Err(StoreError::failed("a signing key with this id exists already")) }
    }

    async fn insert_key(self, key: SigningKey, retire_others_at: Option<i64>) -> Result<bool> {
        transaction!(self.0.writer, (key, retire_others_at), |db, (key, retire_others_at)| {
            let known = db.one::<String>("SELECT id FROM signing_key WHERE id = $1", &params![key.id]).await?;
            if known.is_some() {
                return Ok(false);
            }
            if let Some(until_ms) = retire_others_at {
                db.execute(RETIRE, &params![until_ms]).await?;
            }
            Ok(db.execute(START, &params![key.id, key.pkcs8, key.created_ms]).await? > 0)
        })
    }
}

from_columns!(SigningKey { id, pkcs8, created_ms, expires_ms });
