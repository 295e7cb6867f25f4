//! Health check and metrics, for load balancers and Prometheus.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, header};
use mainstay_engine::Engine;
use serde_json::json;

use crate::connection::Connection;

/// `GET /health`: 503 if the store does not answer. Needs no token and is not audited: load balancers call it often.
pub(crate) async fn health(State(engine): State<Engine>) -> Response {
    let uptime = engine.uptime().as_secs();
    match engine.healthy().await {
        Ok(()) => Json(json!({"status": "ok", "uptime_seconds": uptime})).into_response(),
        Err(error) => {
            tracing::error!(detail = error.detail, "the health check failed");
            let body = Json(json!({"status": "unavailable", "uptime_seconds": uptime, "reason": error.public}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// `GET /metrics`. Needs the scope `read`: the metrics show which tools are called.
pub(crate) async fn metrics(State(engine): State<Engine>, Extension(connection): Extension<Connection>) -> Response {
    if let Err(error) = engine.admit_reader(&connection.caller) {
        connection.missing_scope.note(&error);
        return (StatusCode::FORBIDDEN, Json(json!({"error": error.public}))).into_response();
    }
    match engine.render_metrics() {
        Ok(text) => ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(error) => {
            tracing::error!(detail = error.detail, "cannot render the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
