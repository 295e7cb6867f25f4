//! A request of the standard protocol as the adapter's modules pass it on. This module imports no other module of the
//! adapter.

use std::sync::Arc;

use mainstay_core::{Answers, Call, CancellationToken, Sink};
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use rmcp::service::RoleServer;

use crate::connection::Connection;

/// Which of the two protocol generations a request uses. Both are served on one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, and requests from the server to the client.
    Session,
    /// From 2026-07-28: each request is self-contained, and a question to the client is a result.
    Stateless,
}

impl Era {
    pub(crate) fn of(context: &rmcp::service::RequestContext<RoleServer>) -> Self {
        let stateless = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        if stateless { Self::Stateless } else { Self::Session }
    }
}

/// Who sent a request, and how the client can be reached while the request is being served.
pub(crate) struct RequestContext {
    pub(crate) connection: Connection,
    /// Of the HTTP request; on stdio each call has an id of its own.
    pub(crate) request_id: Option<Arc<str>>,
    /// The session's id, if the request arrived in one that belongs to its sender.
    pub(crate) session: Option<Arc<str>>,
    /// What the client calls itself: in its handshake, or in this very request.
    pub(crate) client: Option<Arc<str>>,
    /// From the request's `_meta`, or from its HTTP header.
    pub(crate) idempotency_key: Option<String>,
    /// Where the call sends progress, log messages and questions.
    pub(crate) sink: Arc<dyn Sink>,
    /// The SDK's token, cancelled with the request.
    pub(crate) cancel: CancellationToken,
    /// What the client declared: in its handshake, or in this very request.
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) era: Era,
}

impl RequestContext {
    /// The engine's call for this request.
    pub(crate) fn call(&self, answers: Answers) -> Call {
        // The policy stays the default one: the standard protocol declares no policies of its own.
        let mut call = Call::new(self.connection.caller.clone());
        if let Some(id) = &self.request_id {
            call.request_id = id.clone();
        }
        call.session.clone_from(&self.session);
        call.client.clone_from(&self.client);
        call.idempotency_key.clone_from(&self.idempotency_key);
        call.answers = answers;
        call.sink = self.sink.clone();
        call.cancel = self.cancel.clone();
        call
    }
}
