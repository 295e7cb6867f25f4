//! For operators: the health check for load balancers, the metrics for Prometheus, and the page that shows the OpenAPI
//! document. Everything a page needs is in the binary, so that it works without a network.
//!
//! The viewer is our own, 165 lines of HTML, CSS and JavaScript (7 KB). Swagger UI would add a 1.8 MB archive to the
//! binary, and both it and Scalar need `'unsafe-inline'` styles, which [`POLICY`] does not allow.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use http::{StatusCode, header};
use mainstay_engine::Engine;
use mainstay_wire::solana;

use super::body;
use crate::connection::Connection;

pub(super) const PAGE: &str = include_str!("../../assets/docs/index.html");
pub(super) const SCRIPT: &str = include_str!("../../assets/docs/viewer.js");
pub(super) const STYLE: &str = include_str!("../../assets/docs/viewer.css");

/// `GET /`.
pub(super) const START: &str = include_str!("../../assets/docs/start.html");

/// The content security policy: nothing inline, nothing from other servers, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /openapi.json`.
pub(super) async fn document(State(document): State<Bytes>) -> Response {
    body::json(StatusCode::OK, document)
}

/// A text that is part of the program, as UTF-8.
pub(super) fn asset(media_type: &str, text: &'static str) -> Response {
    let content_type = format!("{media_type}; charset=utf-8");
    let headers = [
        (header::CONTENT_TYPE, content_type.as_str()),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}

/// `GET /health`: 503 if the store does not answer. Needs no token and is not audited: load balancers call it often.
pub(crate) async fn health(State(engine): State<Engine>) -> Response {
    // Contract 003 describes this route and names a service; what it promises is here, whatever else the server does.
    let mut body = solana::health();
    body.insert("uptime_seconds".to_owned(), engine.uptime().as_secs().into());
    let (status, word) = match engine.healthy().await {
        Ok(()) => (StatusCode::OK, "ok"),
        Err(error) => {
            tracing::error!(detail = error.detail, "the health check failed");
            body.insert("reason".to_owned(), error.public.into());
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
    };
    body.insert("status".to_owned(), word.into());
    (status, Json(body)).into_response()
}

/// `GET /metrics`. Needs the scope `read`: the metrics show which tools are called.
pub(crate) async fn metrics(State(engine): State<Engine>, Extension(connection): Extension<Connection>) -> Response {
    if let Err(error) = connection.admit_reader(&engine) {
        return body::problem(StatusCode::FORBIDDEN, "forbidden", error.public);
    }
    match engine.render_metrics() {
        Ok(text) => ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(error) => {
            tracing::error!(detail = error.detail, "cannot render the metrics");
            body::problem(StatusCode::INTERNAL_SERVER_ERROR, "server_error", error.public)
        }
    }
}

/// The response to a path that no route has.
pub(super) async fn not_found() -> Response {
    let description =
        "No route has this path. On the main address, /openapi.json lists all routes and /docs shows them.";
    body::problem(StatusCode::NOT_FOUND, "not_found", description)
}

/// The response to a method that the route does not have. The router adds the header Allow.
pub(super) async fn method_not_allowed() -> Response {
    let description = "This path does not have this method. The header Allow lists those it has.";
    body::problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", description)
}
