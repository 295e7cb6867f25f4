//! `POST /jsonrpc`: the dialect `agents`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{Method, StatusCode, header};
use mainstay_core::CancellationToken;
use mainstay_wire::agents::{self, Fault};
use mainstay_wire::{Id, jsonrpc};

use super::{body, visit};
use crate::agents::{Answer, Desk};
use crate::connection::Connection;

/// Of a request whose sender is not known so much is read, to answer under its id.
const STRANGER: usize = 64 * 1024;

pub(crate) struct Endpoint {
    pub(crate) desk: Arc<Desk>,
    pub(crate) message_bytes: usize,
}

pub(crate) async fn serve(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let request_id = visit::request_id(request.headers());
    let mut response = endpoint.serve(request, request_id.clone()).await;
    visit::stamp(&mut response, &request_id);
    response
}

impl Endpoint {
    async fn serve(&self, request: Request, request_id: Arc<str>) -> Response {
        let (parts, body) = request.into_parts();
        let Some(connection) = parts.extensions.get::<Connection>().cloned() else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        if parts.method != Method::POST {
            let unread = unread(StatusCode::METHOD_NOT_ALLOWED, "Send JSON-RPC messages with POST.");
            return ([(header::ALLOW, "POST")], unread).into_response();
        }
        if !body::is_json(&parts.headers) {
            return unread(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the message as application/json.");
        }
        let bytes = match read(body, self.message_bytes).await {
            Ok(bytes) => bytes,
            Err(response) => return *response,
        };
        let cancel = CancellationToken::new();
        // A client that leaves takes with it the response, and with that its call.
        let _leaving = cancel.clone().drop_guard();
        respond(match visit::visit(&parts, connection, request_id, cancel) {
            Ok(visit) => self.desk.answer(&bytes, &visit).await,
            Err(error) => Answer::failed(&jsonrpc::id_of(&bytes), Fault::of(&error)),
        })
    }
}

fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Some(text) = answer.body else { return status.into_response() };
    let mut response = body::json(status, text);
    if let Some(session) = &answer.session {
        visit::put_session(&mut response, session);
    }
    if let Some(fault) = &answer.fault {
        visit::explain(&mut response, fault);
    }
    response
}

/// A request in which no message was looked for.
fn unread(status: StatusCode, reason: &str) -> Response {
    respond(Answer::failed(&Id::null(), Fault::unread(status.as_u16(), reason)))
}

/// The body; one that is too long is an invalid request like any other, as the contract has it.
async fn read(body: Body, limit: usize) -> Result<Bytes, Box<Response>> {
    body::read(body, limit, worded).await.map_err(|mut response| {
        if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
        response
    })
}

fn worded(refusal: &jsonrpc::Refusal) -> String {
    let refused = agents::refused(refusal);
    agents::failure(&refused.id.unwrap_or_else(Id::null), &refused.fault)
}

/// The refusal of a request without a good token, as a response of the dialect: it keeps its headers, and gets a body.
pub(crate) async fn unauthorized_in_words(request: Request, next: Next) -> Response {
    let request_id = visit::request_id(request.headers());
    let (parts, sent) = request.into_parts();
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let (id, sent) = if length.is_some_and(|length: usize| length <= STRANGER) {
        match read(sent, STRANGER).await {
            Ok(bytes) => (jsonrpc::id_of(&bytes), Body::from(bytes)),
            Err(response) => return *response,
        }
    } else {
        (Id::null(), sent)
    };
    let response = next.run(Request::from_parts(parts, sent)).await;
    if response.status() != StatusCode::UNAUTHORIZED || visit::is_stamped(&response) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    let mut response = Response::from_parts(parts, Body::from(agents::failure(&id, &Fault::unauthorized())));
    visit::stamp(&mut response, &request_id);
    response
}
