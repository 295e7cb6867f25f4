//! `GET /api/mcp/…`: what the dialect `agents` shows of itself without JSON-RPC.

mod audit;
mod security;
mod status;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use mainstay_core::{CancellationToken, Result, Scope};
use mainstay_wire::agents::{self, Fault};
use serde_json::{Value, json};

use super::{body, visit};
use crate::agents::{Desk, Visit};
use crate::connection::Connection;

/// One page of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Status,
    Resources,
    Prompts,
    Capabilities,
    Security,
    Audit,
}

impl View {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Status => "/api/mcp/status",
            Self::Resources => "/api/mcp/resources",
            Self::Prompts => "/api/mcp/prompts",
            Self::Capabilities => "/api/mcp/capabilities",
            Self::Security => "/api/mcp/security",
            Self::Audit => "/api/mcp/audit",
        }
    }
}

pub(crate) struct Api {
    pub(crate) desk: Arc<Desk>,
    /// The names no path may lead to.
    pub(crate) protected: Vec<String>,
    /// Whether tokens are to be had from this server itself.
    pub(crate) issues_tokens: bool,
}

/// What a load balancer asks. It is not recorded: anybody may ask, as often as they like.
pub(crate) async fn health(State(api): State<Arc<Api>>) -> Response {
    let (status, word) = match api.desk.engine.healthy().await {
        Ok(()) => (StatusCode::OK, "healthy"),
        Err(error) => {
            tracing::error!(detail = error.detail, "unhealthy");
            (StatusCode::SERVICE_UNAVAILABLE, "unhealthy")
        }
    };
    (status, Json(json!({"status": word, "version": agents::VERSION}))).into_response()
}

pub(crate) async fn serve(State((api, view)): State<(Arc<Api>, View)>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let Some(connection) = parts.extensions.get::<Connection>().cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let request_id = visit::request_id(&parts.headers);
    let operation = view.path().trim_start_matches('/');
    let missing_scope = connection.missing_scope.clone();
    let shown = match visit::visit(&parts, connection, request_id.clone(), CancellationToken::new()) {
        Ok(visit) => {
            let work = Box::pin(api.show(view, &visit, &parts.uri));
            api.desk.attend(operation, Some(Scope::Read), &visit, work).await
        }
        Err(error) => Err(error),
    };
    let mut response = match shown {
        Ok(value) => body::json(StatusCode::OK, value.to_string()),
        Err(error) => {
            missing_scope.note(&error);
            refusal(&Fault::called(&error, operation, api.desk.engine.clock().now()))
        }
    };
    visit::stamp(&mut response, &request_id);
    response
}

impl Api {
    async fn show(&self, view: View, visit: &Visit, uri: &Uri) -> Result<Value> {
        match view {
            View::Status => self.status(visit).await,
            View::Resources => Ok(json!({"resources": self.desk.resources()})),
            View::Prompts => Ok(json!({"prompts": self.desk.prompts()?})),
            View::Capabilities => self.desk.capabilities(visit).await,
            View::Security => Ok(self.security()),
            View::Audit => self.audit(visit, uri).await,
        }
    }
}

fn refusal(fault: &Fault) -> Response {
    let status = StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = body::json(status, json!({"error": fault.to_json()}).to_string());
    visit::explain(&mut response, fault);
    response
}
