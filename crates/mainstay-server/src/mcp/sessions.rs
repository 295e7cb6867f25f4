//! Sessions of the older versions: held in memory while they are used, kept in the store so that any replica can go
//! on with them, and visible to the principal that opened them alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// One principal's share of the sessions in memory is one of so many.
const SHARES: usize = 10;

const KEPT: Duration = Duration::from_hours(24);

/// Goes with a message that has come in through a session of its sender's. The header alone says nothing: the stateless
/// protocol does not look at it.
#[derive(Clone)]
pub(crate) struct InSession(pub(crate) Arc<str>);

/// Whose a session is, and when it was last used.
struct Held {
    principal: Principal,
    used: Mutex<Instant>,
}

pub(crate) struct Sessions {
    local: LocalSessionManager,
    abandoned: Abandoned,
    owners: DashMap<SessionId, Held>,
    engine: Engine,
    limit: usize,
    idle: Duration,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
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
        // Plain calls do not pass through the SDK, so it cannot know that a session is in use; we do.
        local.session_config.keep_alive = None;
        Self { local, abandoned: Abandoned::default(), owners: DashMap::new(), engine, limit: limit.max(1), idle }
    }

    /// Whether this caller has such a session in memory. To ask is to use it.
    pub(crate) fn holds(&self, id: &str) -> bool {
        let Ok(principal) = principal() else { return false };
        let Some(held) = self.owners.get(id).filter(|held| held.principal == principal) else { return false };
        *held.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        true
    }

    /// Lets go of sessions nobody has used for long. They are in the store, and come back when they are asked for.
    pub(crate) async fn let_go_of_idle(&self) {
        let idle = |held: &Held| held.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > self.idle;
        let gone: Vec<SessionId> =
            self.owners.iter().filter(|held| idle(held)).map(|held| held.key().clone()).collect();
        for id in gone {
            self.let_go(&id).await;
        }
    }

    async fn let_go(&self, id: &SessionId) {
        self.owners.remove(id);
        self.engine.sessions_open(self.owners.len());
        if let Err(error) = self.local.close_session(id).await {
            tracing::debug!(%error, "a session was gone before it was closed");
        }
    }

    /// Makes room for one more of this principal's by letting go of those unused for longest: its own where it has its
    /// share, else whosever they are.
    async fn make_room(&self, principal: &Principal) {
        // Without tokens everybody is one principal, whose share is all there is.
        let share = if principal.is_local() { self.limit } else { (self.limit / SHARES).max(1) };
        while let Some(id) = self.oldest(share, |held| held.principal == *principal) {
            self.let_go(&id).await;
        }
        while let Some(id) = self.oldest(self.limit, |_| true) {
            self.let_go(&id).await;
        }
    }

    /// The one unused for longest of these, if there are as many as there may be.
    fn oldest(&self, limit: usize, counts: impl Fn(&Held) -> bool) -> Option<SessionId> {
        if self.owners.len() < limit {
            return None;
        }
        let (mut count, mut oldest) = (0, None);
        for held in self.owners.iter().filter(|held| counts(held)) {
            let used = *held.used.lock().unwrap_or_else(PoisonError::into_inner);
            count += 1;
            if oldest.as_ref().is_none_or(|(since, _)| used < *since) {
                oldest = Some((used, held.key().clone()));
            }
        }
        oldest.filter(|_| count >= limit).map(|(_, id)| id)
    }

    /// Ends a session of this caller's, in memory and in the store; false if it has none of this id.
    pub(crate) async fn end(&self, id: &str) -> mainstay_core::Result<bool> {
        let Ok(principal) = principal() else { return Ok(false) };
        if self.engine.find_session(id, &principal).await?.is_none() && !self.holds(id) {
            return Ok(false);
        }
        self.engine.close_session(id).await?;
        self.let_go(&id.into()).await;
        Ok(true)
    }

    /// Gives a new or restored session to the one who asks for it.
    async fn admit(&self, id: SessionId) -> Result<RestoreOutcome<<Self as SessionManager>::Transport>, SessionsError> {
        let held = Held { principal: principal()?, used: Mutex::new(Instant::now()) };
        self.make_room(&held.principal).await;
        let outcome = self.local.restore_session(id.clone()).await?;
        if matches!(outcome, RestoreOutcome::Restored(_)) {
            self.owners.insert(id, held);
            self.engine.sessions_open(self.owners.len());
        }
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
        // The session's own worker calls this too, and is nobody's request.
        if CALLER.try_with(|_| ()).is_err() || self.owned(id).is_ok() {
            self.let_go(id).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.owned(id)?;
        message.insert_extension(InSession(id.clone()));
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
