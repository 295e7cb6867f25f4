//! Sessions of the older protocol versions. A session is in memory while it is in use and in the store for a day, so that
//! any replica can restore it, and it exists only for the principal that opened it.
//!
//! The SDK manages sessions by id alone. [`Sessions`] wraps its manager and checks the owner, limits how many sessions
//! one principal has in memory, and unloads idle ones; [`SessionRows`] is the store's side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dashmap::DashMap;
use futures::{Stream, StreamExt};
use mainstay_core::{Caller, Principal, new_id};
use mainstay_engine::Engine;
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore, SessionStoreError,
};

use super::stream_replay::AbandonedStreams;

tokio::task_local! {
    /// The caller of the request being served. The SDK's session traits do not pass it on, and a session id alone must
    /// never be enough to use a session.
    pub(crate) static CALLER: Arc<Caller>;
}

/// One principal may have a tenth of the sessions in memory.
const SHARES: usize = 10;

/// How long an unused session stays in the store.
const STORED: Duration = Duration::from_hours(24);

/// Added to a message that arrived through a session of its sender. The session header alone proves nothing: stateless
/// requests may carry it, and nobody checks it there.
#[derive(Clone)]
pub(crate) struct InSession(pub(crate) Arc<str>);

/// A session in memory.
struct LoadedSession {
    principal: Principal,
    last_used: Mutex<Instant>,
}

/// The sessions in memory, around the SDK's own manager.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    abandoned: AbandonedStreams,
    loaded: DashMap<SessionId, LoadedSession>,
    engine: Engine,
    /// The most sessions in memory (`server.sessions`).
    limit: usize,
    /// How long an unused session stays in memory (`server.session_idle_seconds`).
    idle: Duration,
}

/// `NotFound` also covers sessions of other principals, so that ids cannot be probed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("no caller is known for this request")]
    NoCaller,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("session not found")]
    NotFound,
}

/// Of everything that a session id alone does not permit.
type Result<T, E = SessionsError> = std::result::Result<T, E>;

impl Sessions {
    pub(crate) fn new(engine: Engine, limit: usize, idle: Duration) -> Self {
        let mut local = LocalSessionManager::default();
        // The SDK does not see the calls on the fast path, so its own idle timer would end sessions that are in use.
        local.session_config.keep_alive = None;
        Self {
            local,
            abandoned: AbandonedStreams::default(),
            loaded: DashMap::new(),
            engine,
            limit: limit.max(1),
            idle,
        }
    }

    /// Whether this caller has such a session in memory; if so, its idle time starts again.
    pub(crate) fn touch(&self, id: &str) -> bool {
        let Ok(principal) = principal() else { return false };
        let Some(session) = self.loaded.get(id).filter(|session| session.principal == principal) else { return false };
        *session.last_used.lock() = Instant::now();
        true
    }

    /// Removes idle sessions from memory. They stay in the store and are restored when they are used again.
    pub(crate) async fn unload_idle(&self) {
        let is_idle = |session: &LoadedSession| session.last_used.lock().elapsed() > self.idle;
        let idle: Vec<SessionId> =
            self.loaded.iter().filter(|session| is_idle(session)).map(|session| session.key().clone()).collect();
        for id in idle {
            self.unload(&id).await;
        }
    }

    async fn unload(&self, id: &SessionId) {
        self.loaded.remove(id);
        self.engine.sessions_open(self.loaded.len());
        if let Err(error) = self.local.close_session(id).await {
            tracing::debug!(%error, "the SDK had closed the session already");
        }
    }

    /// Makes room for one more session of this principal by unloading the least recently used: its own if it has used up
    /// its share, otherwise anybody's.
    async fn make_room(&self, principal: &Principal) {
        // Without tokens all clients are the same principal, so it may have all sessions.
        let share = if principal.is_local() { self.limit } else { (self.limit / SHARES).max(1) };
        while let Some(id) = self.least_recently_used(share, |session| session.principal == *principal) {
            self.unload(&id).await;
        }
        while let Some(id) = self.least_recently_used(self.limit, |_| true) {
            self.unload(&id).await;
        }
    }

    /// The least recently used of the sessions that count, if there are at least `limit` of them.
    /// Looks through all sessions in memory, but only when one is loaded and a limit may be reached.
    fn least_recently_used(&self, limit: usize, counts: impl Fn(&LoadedSession) -> bool) -> Option<SessionId> {
        if self.loaded.len() < limit {
            return None;
        }
        let mut count = 0;
        let counted = self.loaded.iter().filter(|session| counts(session)).inspect(|_| count += 1);
        let oldest = counted.min_by_key(|session| *session.last_used.lock()).map(|session| session.key().clone());
        oldest.filter(|_| count >= limit)
    }

    /// Ends a session of this caller, in memory and in the store; false if the caller has no session with this id.
    pub(crate) async fn end(&self, id: &str) -> mainstay_core::Result<bool> {
        let Ok(principal) = principal() else { return Ok(false) };
        // Either is enough: an idle session is only in the store, and one whose row has expired is only in memory.
        if self.engine.find_session(id, &principal).await?.is_none() && !self.touch(id) {
            return Ok(false);
        }
        self.engine.close_session(id).await?;
        self.unload(&id.into()).await;
        Ok(true)
    }

    /// Loads a new or restored session for the current caller.
    async fn load(&self, id: SessionId) -> Result<RestoreOutcome<<Self as SessionManager>::Transport>> {
        let session = LoadedSession { principal: principal()?, last_used: Mutex::new(Instant::now()) };
        self.make_room(&session.principal).await;
        let outcome = self.local.restore_session(id.clone()).await?;
        if matches!(outcome, RestoreOutcome::Restored(_)) {
            self.loaded.insert(id, session);
            self.engine.sessions_open(self.loaded.len());
        }
        Ok(outcome)
    }

    /// To anybody but its owner a session does not exist.
    fn check_owner(&self, id: &SessionId) -> Result<()> {
        if self.touch(id) { Ok(()) } else { Err(SessionsError::NotFound) }
    }
}

/// The principal of the current request.
fn principal() -> Result<Principal> {
    CALLER.try_with(|caller| caller.principal.clone()).map_err(|_| SessionsError::NoCaller)
}

/// Each method checks the owner before it passes the id on: the SDK finds a session for anybody who knows its id.
impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport)> {
        // 244 random bits. That an id cannot be guessed is the second defence; the first is the check of the owner.
        let id: SessionId = format!("{}{}", new_id(), new_id()).into();
        // If a new random id existed already, the session would be somebody else's.
        let RestoreOutcome::Restored(transport) = self.load(id.clone()).await? else {
            return Err(SessionsError::NotFound);
        };
        Ok((id, transport))
    }

    async fn initialize_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<ServerJsonRpcMessage> {
        self.check_owner(id)?;
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool> {
        Ok(self.check_owner(id).is_ok() && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<()> {
        // The SDK's own worker calls this as well, outside of any request; then there is no caller to check.
        if CALLER.try_with(|_| ()).is_err() || self.check_owner(id).is_ok() {
            self.unload(id).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.check_owner(id)?;
        // Only here is it proven that the sender owns the session; the handler trusts this mark and no header.
        message.insert_extension(InSession(id.clone()));
        Ok(self.abandoned.watch(id.clone(), Box::pin(self.local.create_stream(id, message).await?)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<()> {
        self.check_owner(id)?;
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.check_owner(id)?;
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.check_owner(id)?;
        match self.abandoned.resume(id, &last_event_id) {
            Some(rest) => Ok(rest.left_stream()),
            None => Ok(self.local.resume(id, last_event_id).await?.right_stream()),
        }
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>> {
        self.load(id).await
    }
}

/// The sessions in the store, as the SDK's trait wants them.
pub(crate) struct SessionRows(pub(crate) Engine);

#[async_trait]
impl SessionStore for SessionRows {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(session) = self.0.find_session(id, &principal()?).await? else { return Ok(None) };
        // Every replica that restores a session prolongs it, so one that is in use never expires.
        self.0.extend_session(id, STORED).await?;
        Ok(Some(SessionState::new(serde_json::from_str(&session.state)?)))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let state = serde_json::to_string(&state.initialize_params)?;
        Ok(self.0.open_session(id, &principal()?, "mcp", state, STORED).await?)
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        // The SDK passes on whatever id a request names, so the owner is checked here as well.
        if self.0.find_session(id, &principal()?).await?.is_some() {
            self.0.close_session(id).await?;
        }
        Ok(())
    }
}
