//! `GET /api/mcp/…`: the REST API of the dialect `agents` (contract 001).

mod audit;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, Uri};
use mainstay_auth::oauth::ACCESS_LIFETIME;
use mainstay_core::{BoxFuture, CancellationToken, Result, Scope};
use mainstay_wire::agents;
use serde_json::{Value, json};

use super::dialect::json_response;
use super::{body, request_headers};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, RequestContext};

/// How many agents, and how many of the newest activities, are shown. The counts are of all.
const LIMIT: u32 = 50;

/// One page of the API: a method of [`Api`], in the entry of its route.
pub(super) type View = for<'a> fn(&'a Api, &'a RequestContext, &'a Uri) -> BoxFuture<'a, Result<Value>>;

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
    State((api, path, view)): State<(Arc<Api>, &'static str, View)>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let request_id = request_headers::request_id(&parts.headers);
    let operation = path.trim_start_matches('/');
    let missing_scope = connection.missing_scope.clone();
    let cancel = CancellationToken::new();
    let result = match request_headers::read(&parts.headers, true, connection, request_id.clone(), cancel) {
        Ok(context) => {
            let work = view(&api, &context, &parts.uri);
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
    pub(super) async fn status(&self, context: &RequestContext) -> Result<Value> {
        let (engine, caller) = (&self.dispatcher.engine, &context.connection.caller);
        let [tools, resources, prompts] = self.dispatcher.counts(caller)?;
        let page = json!({"limit": LIMIT, "count": true});
        let listed = engine.read_tool(caller, "agents_list", page.clone()).await?.unwrap_or_default();
        let logged = engine.read_tool(caller, "agents_activities", page).await?.unwrap_or_default();
        Ok(json!({
            "status": "operational",
            "mcp_version": agents::VERSION,
            "capabilities": self.capabilities(context).await?,
            "agents": rows(&listed, "agents"),
            "activities": rows(&logged, "activities"),
            "system_stats": {
                "total_activities": logged["total"].as_i64().unwrap_or(0),
                "active_agents": listed["active"].as_i64().unwrap_or(0),
                "tools_available": tools,
                "resources_available": resources,
                "prompts_available": prompts,
            },
        }))
    }

    /// The settings that protect the server.
    pub(super) fn security(&self) -> Value {
        let (engine, dialect) = (&self.dispatcher.engine, &self.dispatcher.dialect);
        let settings = engine.settings();
        let quota = engine.quota(dialect.policy());
        let per_minute = quota.map(|quota| u64::from(quota.calls) * 60 / u64::from(quota.seconds.max(1)));
        let consent = &settings.consent;
        let consent = !consent.required_for.is_empty()
            || !consent.required_for_tools.is_empty()
            || !consent.required_for_words.is_empty();
        json!({
            "security": {
                "oauth_enabled": self.issues_tokens,
                "consent_flow": consent,
                "path_protection": !self.protected.is_empty(),
                "rate_limiting": true,
                "audit_logging": true,
                "dangerous_operations": settings.consent.required_for_words,
            },
            "policies": {
                "token_expiry_hours": ACCESS_LIFETIME.as_secs() / 3600,
                "consent_expiry_minutes": settings.consent.minutes,
                "rate_limit_per_minute": per_minute,
                "path_blacklist": self.protected,
            },
        })
    }

    pub(super) fn resources(&self) -> Value {
        json!({"resources": self.dispatcher.dialect.resource_list(&self.dispatcher.resources())})
    }

    pub(super) fn prompts(&self) -> Result<Value> {
        Ok(json!({"prompts": self.dispatcher.prompts()?}))
    }

    /// What can be used in the session of a request: what its client asked for, or everything.
    pub(super) async fn capabilities(&self, context: &RequestContext) -> Result<Value> {
        let session = self.dispatcher.stored_session(context).await?;
        let state = session.and_then(|(_, state)| serde_json::from_str::<Value>(&state).ok());
        Ok(state.map_or_else(|| agents::capabilities(None), |mut state| state["capabilities"].take()))
    }
}

/// None where the server has no family of that kind.
fn rows(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().cloned().unwrap_or_default()
}
