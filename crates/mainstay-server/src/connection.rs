//! The connection a request arrived on, shared by every transport and dialect. This module imports no other module of
//! the crate, so any of them can use it without a cycle.

use std::net::SocketAddr;
use std::sync::Arc;

use mainstay_core::Caller;
use mainstay_engine::{Engine, Lane};

/// An identified connection: who sends requests on it, and its share of the calls that may run at once.
///
/// On HTTP the token check creates one for each request and puts it into the request's extensions; nothing behind that
/// check can run without one. On stdio one is created for the whole process.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) caller: Arc<Caller>,
    pub(crate) lane: Lane,
}

impl Connection {
    /// The connection to the program that started this one: it has the rights of the local user.
    pub(crate) fn local(engine: &Engine) -> Self {
        Self { caller: Arc::new(Caller::local(None)), lane: engine.lane() }
    }
}

/// The other end of an accepted TCP connection, before a token has been checked. The accept loop adds it to each request.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) lane: Lane,
}
