//! The connection a request arrived on, shared by every transport and dialect. This module imports no other module of
//! the crate but `memory_limit`, so any of them can use it without a cycle.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use mainstay_core::{Caller, CancellationToken, Error, Principal, Result, Scope};
use mainstay_engine::{Engine, Lane};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::memory_limit::MemoryLimit;

/// The longest part of a client's name or version that is shown, in characters.
const CLIENT_NAME: usize = 60;

/// An identified connection: who sends requests on it, and its share of the calls that may run at once.
///
/// On HTTP the token check creates one for each request and puts it into the request's extensions; nothing behind that
/// check can run without one. On stdio one is created for the whole process.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) caller: Arc<Caller>,
    pub(crate) lane: Lane,
    /// Read by the HTTP authentication layer after the request was served; on stdio nobody reads it.
    pub(crate) missing_scope: MissingScope,
}

impl Connection {
    pub(crate) fn new(caller: Arc<Caller>, lane: Lane) -> Self {
        Self { caller, lane, missing_scope: MissingScope::default() }
    }

    /// Fails if the caller does not have the scope to read.
    pub(crate) fn admit_reader(&self, engine: &Engine) -> Result<()> {
        engine.admit_reader(&self.caller).inspect_err(|error| self.missing_scope.note(error))
    }

    /// The connection to the program that started this one: it has the rights of the local user.
    pub(crate) fn local(engine: &Engine) -> Self {
        Self::new(Arc::new(Caller::local(None)), engine.lane())
    }
}

/// What a client calls itself, for people. It can be any text.
pub(crate) fn client_name(name: &str, version: &str) -> Arc<str> {
    // One line: a line break could make the rest look like ours.
    let part = |text: &str| text.chars().filter(|c| !c.is_control()).take(CLIENT_NAME).collect::<String>();
    format!("{} {}", part(name), part(version)).trim().into()
}

/// The other end of an accepted TCP connection, before a token has been checked. The accept loop adds it to each request.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) lane: Lane,
    pub(crate) activity: Arc<Activity>,
    /// The memory of responses that are not read, on all connections together.
    pub(crate) unsent: MemoryLimit,
}

/// What a TCP connection is doing. It decides which one is closed when there are too many, and whose memory an unfinished
/// request takes.
pub(crate) struct Activity(Mutex<ActivityState>);

struct ActivityState {
    /// Of the last request whose token was accepted; `None` until there was one.
    principal: Option<Principal>,
    /// From the headers of a request to the end of its response.
    serving: bool,
    /// When the present state began: being idle, or serving.
    since: Instant,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new(ActivityState { principal: None, serving: false, since: Instant::now() }))
    }
}

impl Activity {
    /// Whether a request is being served, since when it is or is not, and for whom.
    pub(crate) fn snapshot(&self) -> (bool, Instant, Option<Principal>) {
        let state = self.0.lock();
        (state.serving, state.since, state.principal.clone())
    }

    pub(crate) fn principal(&self) -> Option<Principal> {
        self.0.lock().principal.clone()
    }

    /// The token check found out who sends requests on this connection.
    pub(crate) fn identified(&self, principal: &Principal) {
        let mut state = self.0.lock();
        if state.principal.as_ref() != Some(principal) {
            state.principal = Some(principal.clone());
        }
    }

    /// A request is being served until what this returns is dropped.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        self.enter(true);
        Serving(self.clone())
    }

    fn enter(&self, serving: bool) {
        let mut state = self.0.lock();
        (state.serving, state.since) = (serving, Instant::now());
    }
}

/// Held while a request is being served.
pub(crate) struct Serving(Arc<Activity>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.enter(false);
    }
}

/// The connections a server has open, and how they are told to end. Shared by all its listeners, and by WebSockets, which
/// outlive their HTTP connection.
#[derive(Clone, Default)]
pub(crate) struct OpenConnections {
    /// Finished when the last connection is closed.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when no further request is read.
    pub(crate) closing: CancellationToken,
    /// Cancelled when streams end, which would otherwise stay open for ever.
    pub(crate) streams: CancellationToken,
}

/// The scope a request was denied for. HTTP answers such a request with 403 and a challenge that names the scope (RFC
/// 6750, section 3.1), whatever body the protocol gives the error. The cell travels with the request because the SDK
/// lies between the place where the call fails and the place where the response is made.
#[derive(Clone, Default)]
pub(crate) struct MissingScope(Arc<OnceLock<Scope>>);

impl MissingScope {
    /// Keeps the scope if that is why the call failed.
    pub(crate) fn note(&self, error: &Error) {
        if let Some(scope) = error.missing_scope() {
            let _ = self.0.set(scope);
        }
    }

    pub(crate) fn scope(&self) -> Option<Scope> {
        self.0.get().copied()
    }
}
