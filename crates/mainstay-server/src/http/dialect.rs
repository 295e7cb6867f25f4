//! A dialect over HTTP: a POST of one JSON-RPC message, answered with JSON, or with an event stream where the client
//! wants the output of a call while it runs.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response as HttpResponse};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use mainstay_core::CancellationToken;
use mainstay_wire::{HttpError, Id, jsonrpc, sse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::body::{self, Rejection};
use super::request_headers;
use crate::connection::Connection;
use crate::dialect::{Dispatcher, Response, respond};

const EVENT_STREAM: &str = "text/event-stream";

/// Chunks of output that wait for a slow reader; beyond it the call waits.
const CHUNKS_AHEAD: usize = 64;

/// The longest body of an unauthenticated request that is read, to answer under its id.
const UNAUTHENTICATED_BYTES: usize = 64 * 1024;

/// A dialect at one path.
pub(crate) struct DialectEndpoint {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) message_bytes: usize,
}

/// The handler of every dialect's route.
pub(crate) async fn serve(
    State(endpoint): State<Arc<DialectEndpoint>>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> HttpResponse {
    let request_id = request_headers::request_id(request.headers());
    endpoint.answer(request, connection, request_id).await.into_response()
}

impl DialectEndpoint {
    async fn answer(
        &self,
        request: Request,
        connection: Connection,
        request_id: Arc<str>,
    ) -> Result<HttpResponse, Rejection> {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST {
            let rejected = self.rejected(StatusCode::METHOD_NOT_ALLOWED, "Send JSON-RPC messages with POST.");
            return Ok(([(header::ALLOW, "POST")], rejected).into_response());
        }
        // Where the contract does not require it, a missing Content-Type is accepted: its clients leave it out.
        let names_type =
            parts.headers.contains_key(header::CONTENT_TYPE) || self.dispatcher.dialect.requires_content_type();
        if names_type && body::media_type(&parts.headers) != body::JSON {
            return Ok(self.rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the message as application/json."));
        }
        let bytes = self.read(body, self.message_bytes).await?;
        let dialect = &self.dispatcher.dialect;
        let Some(message) = dialect.decode(&bytes) else { return Ok(StatusCode::ACCEPTED.into_response()) };
        let cancel = CancellationToken::new();
        // A client that disconnects drops the response, and with it its call.
        let cancel_if_dropped = cancel.clone().drop_guard();
        let has_sessions = dialect.has_session_headers();
        let context = request_headers::read(&parts.headers, has_sessions, connection, request_id, cancel);
        let mut context = match context {
            Ok(context) => context,
            Err(error) => {
                let error = dialect.error(&error, "headers", self.dispatcher.engine.clock().now());
                return Ok(http_response(respond(message.id.as_ref(), Err(error))));
            }
        };
        // Without an event stream the output comes with the response.
        if !dialect.wants_chunks(&message) || !body::accepts(&parts.headers, EVENT_STREAM) {
            return Ok(http_response(self.dispatcher.answer(message, &context).await));
        }
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        context.chunks = Some(sender.clone());
        let dispatcher = self.dispatcher.clone();
        let call = async move {
            let _cancel = cancel_if_dropped;
            let response = dispatcher.answer(message, &context).await;
            // Through the same channel as the chunks, so that it comes after them.
            let _ = sender.send(response.body.unwrap_or_default().into()).await;
        };
        // The call makes progress only while somebody reads: polling the stream is what drives it.
        let driven = stream::once(call).filter_map(|()| ready(None));
        let events = stream::select(ReceiverStream::new(chunks), driven);
        let events = events.map(|message| Ok::<_, Infallible>(sse::event(&message.bytes)));
        let headers = [(header::CONTENT_TYPE, EVENT_STREAM), (header::CACHE_CONTROL, "no-store")];
        Ok((headers, Body::from_stream(events)).into_response())
    }

    /// The response to a request that holds no message.
    fn rejected(&self, status: StatusCode, reason: &str) -> HttpResponse {
        match self.dispatcher.dialect.http_error(status.as_u16(), reason) {
            Some(error) => http_response(respond(Some(&Id::null()), Err(error))),
            None => (status, format!("{reason}\n")).into_response(),
        }
    }

    /// The whole body. The response to a longer one has the status of the dialect, where it has one for this error.
    async fn read(&self, body: Body, limit: usize) -> Result<Bytes, Rejection> {
        let too_long = |refusal: &jsonrpc::Refusal| {
            let mut error = self.dispatcher.dialect.too_long(refusal);
            if error.http.status == 200 {
                error.http.status = StatusCode::PAYLOAD_TOO_LARGE.as_u16();
            }
            let body = error.response(&refusal.id);
            json_response(error.http, body)
        };
        body::read(body, limit, too_long).await
    }
}

/// The HTTP response, with the status and the headers the dialect wants.
fn http_response(response: Response) -> HttpResponse {
    let Response { body, http, session } = response;
    let Some(body) = body else { return status_code(http.status).into_response() };
    let mut response = json_response(http, body);
    if let Some(session) = &session {
        request_headers::put(&mut response, request_headers::SESSION, session);
    }
    response
}

/// A JSON response as the dialect describes it.
pub(super) fn json_response(http: HttpError, body: impl Into<Body>) -> HttpResponse {
    let mut response = body::json(status_code(http.status), body);
    for (name, value) in http.headers {
        request_headers::put(&mut response, HeaderName::from_static(name), &value);
    }
    response
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Adds the headers that the dialect's contract has on every response.
pub(crate) async fn add_headers(
    State(endpoint): State<Arc<DialectEndpoint>>,
    request: Request,
    next: Next,
) -> HttpResponse {
    let mut response = next.run(request).await;
    for (name, value) in endpoint.dispatcher.dialect.http_headers() {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Gives the rejection of a request without a valid token a body in the dialect's terms, where it has one for it. Status
/// and headers stay those of the token check.
pub(crate) async fn describe_unauthorized(
    State(endpoint): State<Arc<DialectEndpoint>>,
    request: Request,
    next: Next,
) -> Result<HttpResponse, Rejection> {
    let Some(error) = endpoint.dispatcher.dialect.http_error(StatusCode::UNAUTHORIZED.as_u16(), "") else {
        return Ok(next.run(request).await);
    };
    let (parts, sent) = request.into_parts();
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let (mut id, mut sent) = (Id::null(), sent);
    if length.is_some_and(|length: usize| length <= UNAUTHENTICATED_BYTES) {
        let bytes = endpoint.read(sent, UNAUTHENTICATED_BYTES).await?;
        (id, sent) = (jsonrpc::id_of(&bytes), Body::from(bytes));
    }
    let response = next.run(Request::from_parts(parts, sent)).await;
    // Any other response was made by the dialect itself.
    if response.status() != StatusCode::UNAUTHORIZED || response.extensions().get::<body::Problem>().is_none() {
        return Ok(response);
    }
    let mut response = response.map(|_| Body::from(error.response(&id)));
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(body::JSON));
    Ok(response)
}
