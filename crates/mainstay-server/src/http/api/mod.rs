//! `GET /api/mcp/…`: the REST API of the dialect `agents` (contract 001).

mod audit;
mod views;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, Uri};
use mainstay_core::{CancellationToken, Result, Scope};
use mainstay_wire::agents;
use serde_json::{Value, json};

use super::dialect::json_response;
use super::{body, request_headers};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, RequestContext};

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

/// The common prefix of the views.
pub(super) const PATH: &str = "/api/mcp";

pub(crate) struct Api {
    /// Of the dialect, whose sessions, lists and policies the API shares.
    pub(crate) dispatcher: Arc<Dispatcher>,
    /// Names of files that no path may lead to.
    pub(crate) protected: Vec<String>,
    /// Whether this server issues tokens itself.
    pub(crate) issues_tokens: bool,
}

/// For load balancers: neither limited nor recorded.
pub(crate) async fn health(State(api): State<Arc<Api>>) -> Response {
    let (status, word) = match api.dispatcher.engine.healthy().await {
        Ok(()) => (StatusCode::OK, "healthy"),
        Err(error) => {
            tracing::error!(detail = error.detail, "unhealthy");
            (StatusCode::SERVICE_UNAVAILABLE, "unhealthy")
        }
    };
    (status, Json(json!({"status": word, "version": agents::VERSION}))).into_response()
}

pub(crate) async fn serve(
    State((api, view)): State<(Arc<Api>, View)>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let request_id = request_headers::request_id(&parts.headers);
    let operation = view.path().trim_start_matches('/');
    let missing_scope = connection.missing_scope.clone();
    let cancel = CancellationToken::new();
    let result = match request_headers::read(&parts.headers, true, connection, request_id.clone(), cancel) {
        Ok(context) => {
            let work = Box::pin(api.show(view, &context, &parts.uri));
            api.dispatcher.query(operation, Some(Scope::Read), &context, work).await
        }
        Err(error) => Err(error),
    };
    let mut response = match result {
        Ok(value) => body::json(StatusCode::OK, value.to_string()),
        Err(error) => {
            missing_scope.note(&error);
            let dispatcher = &api.dispatcher;
            let error = dispatcher.dialect.error(&error, operation, dispatcher.engine.clock().now());
            let body = format!(r#"{{"error":{}}}"#, error.to_json());
            json_response(error.http, body)
        }
    };
    request_headers::put(&mut response, request_headers::REQUEST, &request_id);
    response
}

impl Api {
    async fn show(&self, view: View, context: &RequestContext, uri: &Uri) -> Result<Value> {
        let dispatcher = &self.dispatcher;
        match view {
            View::Status => self.status(context).await,
            View::Resources => Ok(json!({"resources": dispatcher.dialect.resource_list(&dispatcher.resources())})),
            View::Prompts => Ok(json!({"prompts": dispatcher.prompts()?})),
            View::Capabilities => self.capabilities(context).await,
            View::Security => Ok(self.security()),
            View::Audit => self.audit(context, uri).await,
        }
    }

    /// What can be used in the session of a request: what its client asked for, or everything.
    async fn capabilities(&self, context: &RequestContext) -> Result<Value> {
        let session = self.dispatcher.stored_session(context).await?;
        let state = session.and_then(|(_, state)| serde_json::from_str::<Value>(&state).ok());
        Ok(state.map_or_else(|| agents::capabilities(None), |mut state| state["capabilities"].take()))
    }
}
