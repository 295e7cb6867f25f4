//! `/ws`: events as they happen, and a replay for clients that reconnect within the hour. The engine's feed does the work;
//! a connection holds no queue of its own, so that a slow client costs no memory.

mod connection;
mod messages;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, Request, State, WebSocketUpgrade};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use mainstay_auth::Authenticator;
use mainstay_core::{LimitReached, PrincipalLimit};
use mainstay_engine::Engine;
use serde::Deserialize;

use super::{auth, body};
use crate::connection::{Connection, OpenConnections};

use connection::WebSocketConnection;
use messages::Filter;

/// The longest message a client may send, in bytes.
const MAX_MESSAGE: usize = 64 * 1024;

/// One principal may have a tenth of all connections, …
const SHARES: usize = 10;

/// … and at least this many, as long as the total allows it.
const MIN_PER_PRINCIPAL: usize = 10;

/// The subprotocol in which a browser sends its token, as `bearer, TOKEN`: scripts cannot set the header of a WebSocket.
const BEARER: &str = "bearer";

/// What all connections of the route share.
pub(crate) struct Endpoint {
    pub(super) engine: Engine,
    pub(super) authenticator: Authenticator,
    pub(super) limit: PrincipalLimit,
    pub(super) open: OpenConnections,
}

/// The limit for a total of `server.websockets` connections open at once.
pub(super) fn connection_limit(total: usize) -> PrincipalLimit {
    PrincipalLimit::new(total, (total / SHARES).max(MIN_PER_PRINCIPAL))
}

/// The body of the response to a connection that is rejected.
fn rejection(limit: LimitReached) -> String {
    match limit {
        LimitReached::Total(limit) => {
            format!("WebSocket connection limit reached ({limit}, server.websockets). Try again later.")
        }
        LimitReached::PerPrincipal(limit) => {
            format!("WebSocket connection limit reached ({limit} per client). Close a connection first.")
        }
    }
}

/// Moves a token from the subprotocol to the Authorization header, before the token check.
pub(crate) async fn with_token(mut request: Request, next: Next) -> Response {
    let offered = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
    let token = offered.and_then(|offered| {
        let (first, token) = offered.split_once(',')?;
        (first.trim() == BEARER).then(|| token.trim())
    });
    if let (Some(token), false) = (token.map(str::to_owned), request.headers().contains_key(header::AUTHORIZATION)) {
        auth::set_bearer(request.headers_mut(), &token);
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
    if let Err(error) = connection.admit_reader(&endpoint.engine) {
        return body::problem(StatusCode::FORBIDDEN, "forbidden", error.public);
    }
    let permit = match endpoint.limit.acquire(&connection.caller.principal) {
        Ok(permit) => permit,
        Err(limit) => {
            return body::problem(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", rejection(limit));
        }
    };
    let listener = match endpoint.engine.listen(&connection.caller, resume.last_event_id).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(detail = error.detail, "cannot open the event feed");
            return body::problem(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", error.public);
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

#[cfg(test)]
mod tests {
    use mainstay_core::{Principal, PrincipalPermit};

    use super::*;

    fn principal(name: &str) -> Principal {
        Principal::new("https://issuer", name)
    }

    #[test]
    fn one_principal_gets_a_tenth_of_the_connections_and_returns_them() {
        let (limit, ann) = (connection_limit(200), principal("ann"));
        let held: Vec<PrincipalPermit> = (0..20).map(|_| limit.acquire(&ann).ok().unwrap()).collect();
        assert_eq!(limit.acquire(&ann).err(), Some(LimitReached::PerPrincipal(20)));
        assert!(limit.acquire(&principal("bob")).is_ok());
        drop(held);
        assert!(limit.acquire(&ann).is_ok());
    }

    #[test]
    fn a_principal_gets_at_least_ten_connections_within_the_total() {
        let (few, ann) = (connection_limit(20), principal("ann"));
        let held: Vec<_> = (0..10).map(|_| few.acquire(&ann)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(few.acquire(&ann).err(), Some(LimitReached::PerPrincipal(10)));
        let two = connection_limit(2);
        let _held = [two.acquire(&ann), two.acquire(&ann)];
        assert_eq!(two.acquire(&ann).err(), Some(LimitReached::Total(2)));
    }
}
