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

impl Peer {
    /// The same for one stream of HTTP/2.
    pub(crate) fn on_stream(&self) -> Self {
        Self { activity: self.activity.stream(), ..self.clone() }
    }
}

/// What a TCP connection is doing. It decides which one is closed when there are too many, and whose memory an unfinished
/// request takes.
///
/// A stream of HTTP/2 has one of its own. A proxy may send requests of several principals on one connection at once, and
/// the memory of each is counted for its own.
pub(crate) struct Activity {
    state: Mutex<ActivityState>,
    /// Of the connection this is a stream of: it is told everything, too.
    connection: Option<Arc<Activity>>,
}

struct ActivityState {
    /// Of the last request whose token was accepted; `None` until there was one.
    principal: Option<Principal>,
    /// Requests from their headers to the end of their responses. HTTP/1.1 has one at a time.
    serving: usize,
    /// When the present state began: being idle, or serving.
    since: Instant,
}

impl Default for Activity {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Activity {
    fn new(connection: Option<Arc<Self>>) -> Self {
        let state = ActivityState { principal: None, serving: 0, since: Instant::now() };
        Self { state: Mutex::new(state), connection }
    }

    /// The activity of one stream of this connection.
    pub(crate) fn stream(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::new(Some(self.clone())))
    }

    /// Whether other requests may be served on the same connection at the same time.
    pub(crate) fn is_stream(&self) -> bool {
        self.connection.is_some()
    }

    /// How many requests are being served, since when some or none are, and for whom.
    pub(crate) fn snapshot(&self) -> (usize, Instant, Option<Principal>) {
        let state = self.state.lock();
        (state.serving, state.since, state.principal.clone())
    }

    /// Since when no request has been served; `None` while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.serving == 0).then_some(state.since)
    }

    pub(crate) fn principal(&self) -> Option<Principal> {
        self.state.lock().principal.clone()
    }

    /// The token check found out who sends requests on this connection.
    pub(crate) fn identified(&self, principal: &Principal) {
        let mut state = self.state.lock();
        if state.principal.as_ref() != Some(principal) {
            state.principal = Some(principal.clone());
        }
        drop(state);
        if let Some(connection) = &self.connection {
            connection.identified(principal);
        }
    }

    /// A request is being served until what this returns is dropped.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        let others = self.begin();
        let others = self.connection.as_ref().map_or(others, |connection| connection.begin());
        Serving { activity: self.clone(), others }
    }

    /// One more request is being served; how many were before.
    fn begin(&self) -> usize {
        let mut state = self.state.lock();
        let before = state.serving;
        state.serving += 1;
        if before == 0 {
            state.since = Instant::now();
        }
        before
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.serving -= 1;
        if state.serving == 0 {
            state.since = Instant::now();
        }
    }
}

/// Held while a request is being served.
pub(crate) struct Serving {
    activity: Arc<Activity>,
    /// Requests that were being served on the same connection when this one began.
    pub(crate) others: usize,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.activity.end();
        if let Some(connection) = &self.activity.connection {
            connection.end();
        }
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
