//! A dialect over HTTP: a POST of one JSON-RPC message, answered with JSON, or with an event stream where the client
//! wants the output of a call while it runs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response as HttpResponse};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use mainstay_core::{BoxFuture, CancellationToken};
use mainstay_wire::{ErrorResponse, Id, Operation, Request as Message, jsonrpc, sse};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::{body, request_headers};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, Response, respond};

/// Chunks of output that wait for a slow reader; beyond it the call waits.
const CHUNKS_AHEAD: usize = 64;

/// The longest body of an unauthenticated request that is read, to answer under its id.
const UNAUTHENTICATED_BYTES: usize = 64 * 1024;

/// A dialect at one path.
pub(crate) struct DialectEndpoint {
    pub(crate) path: &'static str,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) message_bytes: usize,
}

/// The handler of every dialect's route.
pub(crate) async fn serve(State(endpoint): State<Arc<DialectEndpoint>>, request: Request) -> HttpResponse {
    let request_id = request_headers::request_id(request.headers());
    let mut response = endpoint.answer(request, request_id.clone()).await;
    let dialect = &endpoint.dispatcher.dialect;
    if dialect.has_session_headers() {
        request_headers::put_request_id(&mut response, &request_id);
    }
    for (name, value) in dialect.http_headers() {
        request_headers::put(&mut response, HeaderName::from_static(name), value);
    }
    response
}

impl DialectEndpoint {
    pub(crate) fn is_at(&self, path: &str, dialect: &str) -> bool {
        self.path == path && self.dispatcher.dialect.policy().name == dialect
    }

    async fn answer(&self, request: Request, request_id: Arc<str>) -> HttpResponse {
        let (parts, body) = request.into_parts();
        let Some(connection) = parts.extensions.get::<Connection>().cloned() else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        if parts.method != Method::POST {
            let rejected = self.rejected(StatusCode::METHOD_NOT_ALLOWED, "Send JSON-RPC messages with POST.");
            return ([(header::ALLOW, "POST")], rejected).into_response();
        }
        if !body::is_json(&parts.headers) {
            return self.rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the message as application/json.");
        }
        let bytes = match self.read(body, self.message_bytes).await {
            Ok(bytes) => bytes,
            Err(response) => return *response,
        };
        let dialect = &self.dispatcher.dialect;
        let Some(message) = dialect.decode(&bytes) else { return StatusCode::ACCEPTED.into_response() };
        let cancel = CancellationToken::new();
        // A client that disconnects drops the response, and with it its call.
        let cancel_if_dropped = cancel.clone().drop_guard();
        let has_sessions = dialect.has_session_headers();
        let context = request_headers::read(&parts.headers, has_sessions, connection, request_id, cancel);
        let mut context = match context {
            Ok(context) => context,
            Err(error) => {
                let error = dialect.error(&error, "headers", self.dispatcher.engine.clock().now());
                return http_response(respond(message.id.as_ref(), Err(error)));
            }
        };
        let streams = dialect.wants_chunks(&message) && accepts_events(&parts.headers);
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        context.chunks = streams.then_some(sender);
        let dispatcher = self.dispatcher.clone();
        let call = async move { dispatcher.answer(message, &context).await };
        if streams {
            let call = Box::pin(call);
            return EventStream { call, chunks, last: None, ended: false, _cancel: cancel_if_dropped }.response();
        }
        http_response(call.await)
    }

    /// The response to a request that holds no message.
    fn rejected(&self, status: StatusCode, reason: &str) -> HttpResponse {
        match self.dispatcher.dialect.http_error(status.as_u16(), reason) {
            Some(error) => http_response(respond(Some(&Id::null()), Err(error))),
            None => (status, format!("{reason}\n")).into_response(),
        }
    }

    /// The whole body, or the response to a client that did not send one in time or sent too much.
    async fn read(&self, body: Body, limit: usize) -> Result<Bytes, Box<HttpResponse>> {
        let too_long = |refusal: &jsonrpc::Refusal| match self.dispatcher.dialect.malformed(refusal) {
            Message { id, operation: Operation::Malformed(error) } => (id, error),
            Message { id, .. } => (id, ErrorResponse::new(refusal.code, refusal.message.clone(), None)),
        };
        let encode = |refusal: &jsonrpc::Refusal| {
            let (id, error) = too_long(refusal);
            error.response(&id.unwrap_or_else(Id::null))
        };
        body::read(body, limit, encode).await.map_err(|mut response| {
            // The status of the dialect, where it has one for this error.
            let status = too_long(&jsonrpc::Refusal::too_long(limit)).1.http.status;
            if response.status() == StatusCode::PAYLOAD_TOO_LARGE && status != 200 {
                *response.status_mut() = status_code(status);
            }
            response
        })
    }
}

/// The HTTP response, with the status and the headers the dialect wants.
fn http_response(response: Response) -> HttpResponse {
    let Response { body, http, session } = response;
    let status = status_code(http.status);
    let Some(body) = body else { return status.into_response() };
    let mut response = body::json(status, body);
    if let Some(session) = &session {
        request_headers::put_session(&mut response, session);
    }
    for (name, value) in http.headers {
        request_headers::put(&mut response, HeaderName::from_static(name), &value);
    }
    response
}

pub(super) fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A call whose output is sent as events while it runs; its response is the last event.
struct EventStream {
    call: BoxFuture<'static, Response>,
    chunks: mpsc::Receiver<Vec<u8>>,
    last: Option<Vec<u8>>,
    ended: bool,
    _cancel: DropGuard,
}

impl EventStream {
    fn response(self) -> HttpResponse {
        let events = stream::unfold(self, Self::next).map(Ok::<_, std::convert::Infallible>);
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        (headers, Body::from_stream(events)).into_response()
    }

    /// The call makes progress only while somebody reads: polling the stream is what drives it.
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        if self.ended {
            return None;
        }
        if self.last.is_none() {
            tokio::select! {
                biased;
                Some(chunk) = self.chunks.recv() => return Some((sse::event(&chunk), self)),
                response = &mut self.call => self.last = Some(response.body.unwrap_or_default()),
            }
        }
        // Chunks that were sent before the end come before the response.
        if let Ok(chunk) = self.chunks.try_recv() {
            return Some((sse::event(&chunk), self));
        }
        self.ended = true;
        let last = self.last.take()?;
        Some((sse::event(&last), self))
    }
}

/// Whether the client can read an event stream; without it the output comes with the response.
fn accepts_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains("text/event-stream"))
}

/// Gives the rejection of a request without a valid token a body in the dialect's terms, where it has one for it. Status
/// and headers stay those of the token check.
pub(crate) async fn describe_unauthorized(
    State(endpoint): State<Arc<DialectEndpoint>>,
    request: Request,
    next: Next,
) -> HttpResponse {
    let Some(error) = endpoint.dispatcher.dialect.http_error(StatusCode::UNAUTHORIZED.as_u16(), "") else {
        return next.run(request).await;
    };
    let request_id = request_headers::request_id(request.headers());
    let (parts, sent) = request.into_parts();
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let (id, sent) = if length.is_some_and(|length: usize| length <= UNAUTHENTICATED_BYTES) {
        match endpoint.read(sent, UNAUTHENTICATED_BYTES).await {
            Ok(bytes) => (jsonrpc::id_of(&bytes), Body::from(bytes)),
            Err(response) => return *response,
        }
    } else {
        (Id::null(), sent)
    };
    let response = next.run(Request::from_parts(parts, sent)).await;
    if response.status() != StatusCode::UNAUTHORIZED || request_headers::has_request_id(&response) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    let mut response = HttpResponse::from_parts(parts, Body::from(error.response(&id)));
    request_headers::put_request_id(&mut response, &request_id);
    response
}
