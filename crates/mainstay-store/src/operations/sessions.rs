//! Sessions of the older protocol versions: stored, so that any replica can answer.

use super::Database;
use crate::sql::{Select, from_columns, params};
use crate::{Result, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub principal: String,
    pub dialect: String,
    /// Whatever the dialect needs to restore it on another replica, as JSON.
    pub state: String,
    pub created_ms: i64,
    pub expires_ms: i64,
}

/// The sessions of all replicas.
#[derive(Clone, Copy)]
pub struct Sessions<'s>(pub(crate) &'s Database);

impl Sessions<'_> {
    /// Fails if the id is in use.
    pub async fn open(self, session: Session) -> Result<()> {
        let Session { id, principal, dialect, state, created_ms, expires_ms } = session;
        let sql = "INSERT INTO session (id, principal, dialect, state, created_ms, expires_ms) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let values = params![id, principal, dialect, state, created_ms, expires_ms];
        match self.0.writer.change(sql, values).await? {
            0 => Err(StoreError::failed("a session with this id exists already")),
            _ => Ok(()),
        }
    }

    /// Deletes the sessions of a principal beyond `most`, those that expire first; resolves with their number.
    pub async fn keep_newest(self, principal: &str, most: u32) -> Result<u64> {
        // The id makes the order unambiguous: many sessions may expire in the same millisecond.
        let sql = "DELETE FROM session WHERE principal = $1 AND (expires_ms, id) <= \
             (SELECT expires_ms, id FROM session WHERE principal = $1 ORDER BY expires_ms DESC, id DESC LIMIT 1 OFFSET $2)";
        self.0.writer.change(sql, params![principal, most]).await
    }

    /// `None` also for a session that has expired.
    pub async fn find(self, id: &str, now_ms: i64) -> Result<Option<Session>> {
        let sql = "SELECT id, principal, dialect, state, created_ms, expires_ms FROM session \
             WHERE id = $1 AND expires_ms > $2";
        self.0.readers.one(sql, &params![id, now_ms]).await
    }

    /// Sets when the session expires; false if there is no such session.
    pub async fn extend(self, id: &str, expires_ms: i64) -> Result<bool> {
        let sql = "UPDATE session SET expires_ms = $2 WHERE id = $1";
        Ok(self.0.writer.change(sql, params![id, expires_ms]).await? > 0)
    }

    /// False if there is no such session.
    pub async fn close(self, id: &str) -> Result<bool> {
        Ok(self.0.writer.change("DELETE FROM session WHERE id = $1", params![id]).await? > 0)
    }

    /// How many have not expired, of one principal or of all.
    pub async fn count(self, principal: Option<&str>, now_ms: i64) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM session WHERE expires_ms > $1";
        let select = Select::new(sql, params![now_ms]).filter("principal", principal);
        let counted: Vec<i64> = select.all(&self.0.readers).await?;
        Ok(counted.into_iter().sum::<i64>().unsigned_abs())
    }
}

from_columns!(Session { id, principal, dialect, state, created_ms, expires_ms });
