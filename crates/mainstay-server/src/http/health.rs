//! What an operator's tools ask: is it alive, and how is it doing?

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, header};
use mainstay_engine::Engine;
use serde_json::json;

use crate::connection::Connection;

pub(crate) async fn health(State(engine): State<Engine>) -> Response {
    let uptime = engine.uptime().as_secs();
    match engine.healthy().await {
        Ok(()) => Json(json!({"status": "ok", "uptime_seconds": uptime})).into_response(),
        Err(error) => {
            tracing::error!(detail = error.detail, "unhealthy");
            let body = Json(json!({"status": "unavailable", "uptime_seconds": uptime, "reason": error.public}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// For those who may read: it tells what is called here, and how often.
pub(crate) async fn metrics(State(engine): State<Engine>, Extension(connection): Extension<Connection>) -> Response {
    if let Err(error) = engine.admit_reader(&connection.caller) {
        connection.missing_scope.note(&error);
        return (StatusCode::FORBIDDEN, Json(json!({"error": error.public}))).into_response();
    }
    match engine.render_metrics() {
        Ok(text) => ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(error) => {
            tracing::error!(detail = error.detail, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
