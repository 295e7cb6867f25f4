//! `/ws`: events as they happen, and a replay for clients that reconnect within the hour. The engine's feed does the work;
//! a connection holds no queue of its own, so that a slow client costs no memory.

mod connection;
mod connection_limit;
mod messages;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, Request, State, WebSocketUpgrade};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mainstay_auth::Authenticator;
use mainstay_core::PrincipalLimit;
use mainstay_engine::Engine;
use serde::Deserialize;

use super::auth;
use super::open_connections::OpenConnections;
use crate::connection::Connection;

use connection::WebSocketConnection;
use connection_limit::{connection_limit, rejection};
use messages::Filter;

/// The longest message a client may send, in bytes.
const MAX_MESSAGE: usize = 64 * 1024;

/// The subprotocol in which a browser sends its token, as `bearer, TOKEN`: scripts cannot set the header of a WebSocket.
const BEARER: &str = "bearer";

/// What all connections of the route share.
pub(crate) struct Endpoint {
    engine: Engine,
    authenticator: Authenticator,
    limit: PrincipalLimit,
    open: OpenConnections,
}

impl Endpoint {
    pub(super) fn new(
        engine: Engine,
        authenticator: Authenticator,
        connections: usize,
        open: OpenConnections,
    ) -> Arc<Self> {
        Arc::new(Self { engine, authenticator, limit: connection_limit(connections), open })
    }
}

/// Moves a token from the subprotocol to the Authorization header, before the token check.
pub(crate) async fn with_token(mut request: Request, next: Next) -> Response {
    let offered = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
    let token = offered.and_then(|offered| {
        let (first, token) = offered.split_once(',')?;
        (first.trim() == BEARER).then(|| token.trim())
    });
    let bearer = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
    if let (Some(bearer), false) = (bearer, request.headers().contains_key(header::AUTHORIZATION)) {
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
    }
    next.run(request).await
}

/// The query of the URL, for clients that want to continue without sending a message first.
#[derive(Deserialize)]
pub(crate) struct ResumeQuery {
    /// The client has received all events up to this one.
    last_event_id: Option<i64>,
}

/// Accepts a connection: checks the scope and the limits before the upgrade, so that a rejection is an HTTP status that
/// the client can read.
pub(crate) async fn serve(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(connection): Extension<Connection>,
    Query(resume): Query<ResumeQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Err(error) = endpoint.engine.admit_reader(&connection.caller) {
        connection.missing_scope.note(&error);
        return (StatusCode::FORBIDDEN, format!("{}\n", error.public)).into_response();
    }
    let permit = match endpoint.limit.acquire(&connection.caller.principal) {
        Ok(permit) => permit,
        Err(limit) => return (StatusCode::SERVICE_UNAVAILABLE, rejection(limit)).into_response(),
    };
    let listener = match endpoint.engine.listen(&connection.caller, resume.last_event_id).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(detail = error.detail, "cannot open the event feed");
            return (StatusCode::SERVICE_UNAVAILABLE, error.public.into_owned()).into_response();
        }
    };
    // Kept to check it again while the connection is open.
    let token = auth::bearer(&headers).ok().flatten().map(str::to_owned);
    let upgrade = upgrade.protocols([BEARER]).max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    // Counted as an open connection, so that a stopping server waits until its close frame is sent.
    let counted = endpoint.open.tasks.token();
    upgrade.on_upgrade(move |socket| async move {
        let filter = Filter::default();
        WebSocketConnection { socket, listener, filter, token, endpoint }.run().await;
        drop((permit, counted));
    })
}
