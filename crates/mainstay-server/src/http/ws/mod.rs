//! `/ws`: what happens, told as it happens, and again to those who were away.

mod message;
mod places;
mod talk;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, Request, State, WebSocketUpgrade};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mainstay_engine::Engine;
use serde::Deserialize;

use super::{Lines, auth};
use crate::connection::Connection;

use message::Filter;
use places::Places;
use talk::Talk;

/// The longest message a client may send.
const MESSAGE: usize = 64 * 1024;

/// The subprotocol under which a browser, which cannot set a header, sends its token: `bearer, TOKEN`.
const BEARER: &str = "bearer";

pub(crate) struct Endpoint {
    engine: Engine,
    doors: auth::Doors,
    places: Places,
    lines: Lines,
}

impl Endpoint {
    pub(super) fn new(engine: Engine, doors: auth::Doors, places: usize, lines: Lines) -> Arc<Self> {
        Arc::new(Self { engine, doors, places: Places::new(places), lines })
    }
}

/// Puts the token of a browser where everybody else's is, before it is looked at.
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

#[derive(Deserialize)]
pub(crate) struct Asked {
    last_event_id: Option<i64>,
}

pub(crate) async fn serve(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(connection): Extension<Connection>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Err(error) = endpoint.engine.admit_reader(&connection.caller) {
        connection.missing_scope.note(&error);
        return (StatusCode::FORBIDDEN, format!("{}\n", error.public)).into_response();
    }
    let place = match endpoint.places.take(&connection.caller.principal) {
        Ok(place) => place,
        Err(full) => return (StatusCode::SERVICE_UNAVAILABLE, full.as_str()).into_response(),
    };
    let listener = match endpoint.engine.listen(&connection.caller, asked.last_event_id).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(detail = error.detail, "nobody can listen");
            return (StatusCode::SERVICE_UNAVAILABLE, error.public.into_owned()).into_response();
        }
    };
    let token = auth::bearer(&headers).ok().flatten().map(str::to_owned);
    let upgrade = upgrade.protocols([BEARER]).max_message_size(MESSAGE).max_frame_size(MESSAGE);
    // Waited for when the server stops, like any connection: it has a last word, too.
    let counted = endpoint.lines.all.token();
    upgrade.on_upgrade(move |socket| async move {
        let filter = Filter::default();
        Talk { socket, listener, filter, token, endpoint }.run().await;
        drop((place, counted));
    })
}
