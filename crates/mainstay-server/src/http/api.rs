//! `GET /api/mcp/…`: the REST API of the dialect `agents` (contract 001).

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, Uri};
use mainstay_auth::oauth::ACCESS_LIFETIME;
use mainstay_core::{BoxFuture, CancellationToken, Error, Registry, Result, Scope};
use mainstay_engine::{AuditRow, Phase};
use mainstay_wire::{ErrorResponse, agents};
use serde::Deserialize;
use serde_json::{Value, json};

use super::dialect::json_response;
use super::{body, request_headers};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, RequestContext};

/// Where the paths of the API begin.
pub(super) const PREFIX: &str = "/api/mcp/";

/// How many agents, and how many of the newest activities, are shown. The counts are of all.
const LIMIT: u32 = 50;

/// How many rows of the audit are returned by default, and at most.
const DEFAULT_AUDIT_ROWS: u32 = 100;
const MAX_AUDIT_ROWS: u32 = 1000;

/// The query of the URL, for the rows of the audit.
#[derive(Deserialize)]
struct AuditQuery {
    session_id: Option<String>,
    limit: Option<String>,
}

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
    let result = match request_headers::read(&parts.headers, true, connection, request_id, cancel) {
        Ok(context) => {
            let work = view(&api, &context, &parts.uri);
            api.dispatcher.query(operation, Some(Scope::Read), &context, work).await
        }
        Err(error) => Err(error),
    };
    match result {
        Ok(value) => body::json(StatusCode::OK, value.to_string()),
        Err(error) => {
            missing_scope.note(&error);
            let dispatcher = &api.dispatcher;
            error_response(dispatcher.dialect.error(&error, operation, dispatcher.engine.clock().now()))
        }
    }
}

/// An error of the API, with the status and the headers it has in the dialect.
pub(super) fn error_response(error: ErrorResponse) -> Response {
    let body = error_body(&error);
    json_response(error.http, body)
}

/// The one error format of the API: the error object of the dialect.
pub(super) fn error_body(error: &ErrorResponse) -> String {
    format!(r#"{{"error":{}}}"#, error.to_json())
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

    /// The newest rows of the audit, in the contract's shape.
    pub(super) async fn audit(&self, context: &RequestContext, uri: &Uri) -> Result<Value> {
        let Query(AuditQuery { session_id, limit }) =
            Query::try_from_uri(uri).map_err(|error| Error::field("query", error.body_text()))?;
        let limit = audit_limit(limit.as_deref())?;
        let engine = &self.dispatcher.engine;
        let rows = engine.audit_rows(&context.connection.caller, session_id, limit).await?;
        let registry = engine.registry();
        let logs: Vec<Value> = rows.iter().map(|row| entry(row, registry)).collect();
        Ok(json!({"count": logs.len(), "logs": logs, "limit": limit}))
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

fn audit_limit(asked: Option<&str>) -> Result<u32> {
    let Some(asked) = asked else { return Ok(DEFAULT_AUDIT_ROWS) };
    let limit = asked.parse().ok().filter(|limit| (1..=MAX_AUDIT_ROWS).contains(limit));
    limit.ok_or_else(|| Error::field("limit", format!("limit is {asked:?}; it can be 1 to {MAX_AUDIT_ROWS}.")))
}

fn entry(row: &AuditRow, registry: &Registry) -> Value {
    let entry = &row.entry;
    let (operation, resource) = operation(&entry.target, registry);
    let result = match (entry.phase, &*entry.outcome) {
        (Phase::Began, _) => "started",
        (Phase::Ended, "ok") => "success",
        (Phase::Ended, other) => other,
    };
    json!({
        "id": row.seq,
        "timestamp": entry.at_ms.div_euclid(1000),
        "session_id": entry.session,
        "operation": operation,
        "resource": resource,
        "result": result,
        "ip_address": entry.ip,
        "request_id": entry.request_id,
    })
}

/// The operation and its resource. The audit names what was called, or the method followed by a name that does not exist.
fn operation<'a>(target: &'a str, registry: &'a Registry) -> (&'a str, Option<&'a str>) {
    if let Some(tool) = registry.tool(target) {
        let info = tool.info();
        return ("tools/call", Some(info.spelling(agents::NAME).unwrap_or(&info.listed)));
    }
    if registry.prompt(target).is_some() {
        return ("prompts/execute", Some(target));
    }
    let (first, rest) = target.split_once(' ').map_or((target, None), |(first, rest)| (first, Some(rest)));
    if first.contains(':') {
        return ("resources/read", Some(target));
    }
    (if first == "prompts/get" { "prompts/execute" } else { first }, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_as_an_operation_and_what_it_was_for() {
        let registry = Registry::default();
        for (target, called, resource) in [
            ("tools/list", "tools/list", None),
            ("tools/call no_such", "tools/call", Some("no_such")),
            ("prompts/get no such", "prompts/execute", Some("no such")),
            ("file://a b", "resources/read", Some("file://a b")),
            ("api/mcp/audit", "api/mcp/audit", None),
        ] {
            assert_eq!(operation(target, &registry), (called, resource), "{target}");
        }
    }
}
