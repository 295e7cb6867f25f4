//! Sessions, keys and one-time values in the store, which all replicas share. A session belongs to the principal that
//! opened it.

use std::time::Duration;

use mainstay_core::{Error, Principal, Result, new_id};
use mainstay_store::Session;

use crate::Engine;

/// The longest state of a session, in bytes. It is the client's own text, and is stored for a day.
const MAX_STATE_BYTES: usize = 64 * 1024;

/// Sessions in the store, for each principal; for a further one, the one that is unused for the longest time is removed.
const MAX_SESSIONS: u32 = 1000;

/// The same where all clients are one principal, because no tokens are used.
const MAX_LOCAL_SESSIONS: u32 = 10_000;

impl Engine {
    /// Stores a session, so that any replica can restore it. Fails if the state is too long.
    pub async fn open_session(
        &self,
        id: &str,
        principal: &Principal,
        dialect: &str,
        state: String,
        life: Duration,
    ) -> Result<()> {
        if state.len() > MAX_STATE_BYTES {
            let told =
                format!("The params of initialize have {} bytes; at most {MAX_STATE_BYTES} are stored.", state.len());
            return Err(Error::field("params", told));
        }
        let session = Session {
            id: id.to_owned(),
            principal: principal.to_string(),
            dialect: dialect.to_owned(),
            state,
            created_ms: self.clock().now_ms(),
            expires_ms: self.expiry(life),
        };
        let most = if principal.is_local() { MAX_LOCAL_SESSIONS } else { MAX_SESSIONS };
        let sessions = self.0.store.sessions();
        // At once, so that both are in one commit.
        let (opened, trimmed) =
            futures::future::join(sessions.open(session), sessions.keep_newest(principal.as_str(), most)).await;
        opened?;
        trimmed?;
        Ok(())
    }

    /// Finds a session of this principal; anybody else's session does not exist for it.
    pub async fn find_session(&self, id: &str, principal: &Principal) -> Result<Option<Session>> {
        let found = self.0.store.sessions().find(id, self.clock().now_ms()).await?;
        Ok(found.filter(|session| session.principal == principal.as_str()))
    }

    /// Moves a session's expiry; false if there is no such session any more.
    pub async fn extend_session(&self, id: &str, life: Duration) -> Result<bool> {
        Ok(self.0.store.sessions().extend(id, self.expiry(life)).await?)
    }

    /// Removes a session from the store. One that does not exist is not an error.
    pub async fn close_session(&self, id: &str) -> Result<()> {
        self.0.store.sessions().close(id).await?;
        Ok(())
    }

    /// A random key that is created once, and is the same on every replica and after every restart.
    pub async fn secret(&self, name: &str) -> Result<Vec<u8>> {
        let candidate = format!("{}{}", new_id(), new_id()).into_bytes();
        Ok(self.0.store.secrets().secret(name, candidate).await?)
    }

    /// Claims a one-time value, such as the nonce of a request state; false if it has been claimed before.
    pub async fn use_once(&self, nonce: &str, life: Duration) -> Result<bool> {
        Ok(self.0.store.secrets().claim_nonce(nonce, self.expiry(life)).await?)
    }

    /// When something that lives this long from now on expires.
    fn expiry(&self, life: Duration) -> i64 {
        self.clock().now_ms().saturating_add(i64::try_from(life.as_millis()).unwrap_or(i64::MAX))
    }
}
