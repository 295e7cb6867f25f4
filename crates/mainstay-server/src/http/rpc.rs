//! `/rpc`, and `/` of the listener of its own: the dialect `mira` over HTTP.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use futures::stream;
use http::{HeaderMap, Method, StatusCode, header};
use mainstay_core::{BoxFuture, CancellationToken, Error};
use mainstay_wire::mira::{self, Fault, Place};
use mainstay_wire::{Id, events, jsonrpc};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::body;
use crate::connection::Connection;
use crate::headers::single;
use crate::mira::{Desk, Visit};

pub(crate) const PATH: &str = "/rpc";

/// Pieces of output waiting for a slow reader; after so many the call waits with it.
const AHEAD: usize = 64;

pub(crate) struct Endpoint {
    pub(crate) desk: Arc<Desk>,
    pub(crate) place: Arc<Place>,
    pub(crate) message_bytes: usize,
}

pub(crate) async fn serve(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(connection) = parts.extensions.get::<Connection>() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if parts.method != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")], "Send JSON-RPC messages with POST.\n")
            .into_response();
    }
    if !body::is_json(&parts.headers) {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the message as application/json.\n").into_response();
    }
    match body::read(body, endpoint.message_bytes, worded).await {
        Ok(bytes) => endpoint.answer(connection.clone(), &parts.headers, &bytes).await,
        Err(response) => *response,
    }
}

impl Endpoint {
    async fn answer(&self, connection: Connection, headers: &HeaderMap, bytes: &[u8]) -> Response {
        let request = match mira::decode(bytes) {
            Ok(Some(request)) => request,
            Ok(None) => return StatusCode::ACCEPTED.into_response(),
            Err(refused) => return body::json(StatusCode::OK, mira::failure(&refused.id, &refused.fault)),
        };
        let Ok(key) = single(headers, "idempotency-key") else {
            return unusable_key(request.id.as_ref());
        };
        let cancel = CancellationToken::new();
        // A client that leaves takes with it the response, and with that its call.
        let leaving = cancel.clone().drop_guard();
        let (stream, chunks) = mpsc::channel(AHEAD);
        let streams = request.wants_stream() && takes_events(headers);
        let visit = Visit {
            connection,
            place: self.place.clone(),
            session: None,
            idempotency_key: key.map(str::to_owned),
            stream: streams.then_some(stream),
            cancel,
        };
        let desk = self.desk.clone();
        let call = async move { desk.answer(request, visit).await };
        if streams {
            return Events { call: Box::pin(call), chunks, last: None, over: false, _leaving: leaving }.response();
        }
        match call.await {
            Some(response) => body::json(StatusCode::OK, response),
            None => StatusCode::ACCEPTED.into_response(),
        }
    }
}

/// A call whose output is sent as it appears, and whose result ends the stream.
struct Events {
    call: BoxFuture<'static, Option<String>>,
    chunks: mpsc::Receiver<Vec<u8>>,
    last: Option<String>,
    over: bool,
    _leaving: DropGuard,
}

impl Events {
    fn response(self) -> Response {
        let events = stream::unfold(self, Self::next).map(Ok::<_, std::convert::Infallible>);
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        (headers, Body::from_stream(events)).into_response()
    }

    /// The call goes on only while somebody reads: this is what drives it.
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        if self.over {
            return None;
        }
        if self.last.is_none() {
            tokio::select! {
                biased;
                Some(chunk) = self.chunks.recv() => return Some((events::event(&chunk), self)),
                response = &mut self.call => self.last = Some(response.unwrap_or_default()),
            }
        }
        // What was said before the end is sent before the end.
        if let Ok(chunk) = self.chunks.try_recv() {
            return Some((events::event(&chunk), self));
        }
        self.over = true;
        let last = self.last.take()?;
        Some((events::event(last.as_bytes()), self))
    }
}

fn unusable_key(id: Option<&Id>) -> Response {
    let Some(id) = id else { return StatusCode::ACCEPTED.into_response() };
    let error = Error::field("Idempotency-Key", "The header came twice or is not readable.");
    body::json(StatusCode::OK, mira::failure(id, &Fault::from(&error)))
}

fn worded(refusal: &jsonrpc::Refusal) -> String {
    let refused = mira::refused(refusal);
    mira::failure(&refused.id, &refused.fault)
}

fn takes_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains("text/event-stream"))
}
