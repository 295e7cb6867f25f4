//! Sessions of the older versions: held in memory while they are used, kept in the store so that any replica can go
//! on with them, and visible to the principal that opened them alone.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dashmap::DashMap;
use futures::{Stream, StreamExt};
use mainstay_core::{Caller, Principal, new_id};
use mainstay_engine::Engine;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore, SessionStoreError,
};

use super::resume::Abandoned;

tokio::task_local! {
    /// Who sends the request under way. The SDK asks for sessions by id alone; the id alone is never enough.
    pub(crate) static CALLER: Arc<Caller>;
}

const KEPT: Duration = Duration::from_hours(24);

pub(crate) struct Sessions {
    local: LocalSessionManager,
    abandoned: Abandoned,
    owners: DashMap<SessionId, Principal>,
    engine: Engine,
    limit: usize,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("too many sessions")]
    Full,
    #[error("no caller is known for this request")]
    NoCaller,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("session not found")]
    NotFound,
}

impl Sessions {
    pub(crate) fn new(engine: Engine, limit: usize, idle: Duration) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        Self { local, abandoned: Abandoned::default(), owners: DashMap::new(), engine, limit }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.owners.len() >= self.limit
    }

    /// Whether this caller has such a session in memory.
    pub(crate) fn holds(&self, id: &str) -> bool {
        principal().is_ok_and(|principal| self.owners.get(id).is_some_and(|owner| *owner == principal))
    }

    /// Ends a session of this caller's, in memory and in the store; false if it has none of this id.
    pub(crate) async fn end(&self, id: &str) -> mainstay_core::Result<bool> {
        let Ok(principal) = principal() else { return Ok(false) };
        if self.engine.find_session(id, &principal).await?.is_none() && !self.holds(id) {
            return Ok(false);
        }
        self.engine.close_session(id).await?;
        if let Err(error) = self.close_session(&id.into()).await {
            tracing::debug!(%error, "a session was gone before it was closed");
        }
        Ok(true)
    }

    /// Gives a new or restored session to the one who asks for it.
    async fn admit(&self, id: SessionId) -> Result<RestoreOutcome<<Self as SessionManager>::Transport>, SessionsError> {
        if self.is_full() {
            return Err(SessionsError::Full);
        }
        let principal = principal()?;
        let outcome = self.local.restore_session(id.clone()).await?;
        self.owners.insert(id, principal);
        self.engine.sessions_open(self.owners.len());
        Ok(outcome)
    }

    fn owned(&self, id: &SessionId) -> Result<(), SessionsError> {
        if self.holds(id) { Ok(()) } else { Err(SessionsError::NotFound) }
    }
}

fn principal() -> Result<Principal, SessionsError> {
    CALLER.try_with(|caller| caller.principal.clone()).map_err(|_| SessionsError::NoCaller)
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let id: SessionId = format!("{}{}", new_id(), new_id()).into();
        // A fresh id cannot be there already; if it were, it would not be ours to give away.
        let RestoreOutcome::Restored(transport) = self.admit(id.clone()).await? else {
            return Err(SessionsError::NotFound);
        };
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.owned(id)?;
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.owned(id).is_ok() && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Called by the session's own worker too, which is nobody's request.
        // A session that is only in the store has nothing to close here.
        if CALLER.try_with(|_| ()).is_ok() && self.owned(id).is_err() {
            return Ok(());
        }
        self.owners.remove(id);
        self.engine.sessions_open(self.owners.len());
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.owned(id)?;
        Ok(self.abandoned.watch(id.clone(), self.local.create_stream(id, message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.owned(id)?;
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.owned(id)?;
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.owned(id)?;
        match self.abandoned.resume(id, &last_event_id) {
            Some(rest) => Ok(rest.left_stream()),
            None => Ok(self.local.resume(id, last_event_id).await?.right_stream()),
        }
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.admit(id).await
    }
}

/// The store's half, as the SDK wants it.
pub(crate) struct Kept(pub(crate) Engine);

#[async_trait]
impl SessionStore for Kept {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(session) = self.0.find_session(id, &principal()?).await? else { return Ok(None) };
        self.0.extend_session(id, KEPT).await?;
        Ok(Some(SessionState::new(serde_json::from_str(&session.state)?)))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let state = serde_json::to_string(&state.initialize_params)?;
        Ok(self.0.open_session(id, &principal()?, "mcp", state, KEPT).await?)
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        if self.0.find_session(id, &principal()?).await?.is_some() {
            self.0.close_session(id).await?;
        }
        Ok(())
    }
}
