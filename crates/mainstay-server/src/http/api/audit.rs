//! The newest rows of the audit, in the contract's shape.

use http::Uri;
use mainstay_core::{Error, Registry, Result};
use mainstay_engine::{AuditRow, Phase};
use mainstay_wire::agents;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use crate::dialect::RequestContext;

/// How many rows are returned by default, and at most.
const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

#[derive(Deserialize)]
struct Query {
    session_id: Option<String>,
    limit: Option<String>,
}

fn limit(asked: Option<&str>) -> Result<u32> {
    let Some(asked) = asked else { return Ok(DEFAULT_LIMIT) };
    let limit = asked.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| Error::field("limit", format!("limit is {asked:?}; it can be 1 to {MAX_LIMIT}.")))
}

impl Api {
    pub(super) async fn audit(&self, context: &RequestContext, uri: &Uri) -> Result<Value> {
        let axum::extract::Query(Query { session_id, limit }) =
            axum::extract::Query::try_from_uri(uri).map_err(|error| Error::field("query", error.body_text()))?;
        let limit = self::limit(limit.as_deref())?;
        let engine = &self.dispatcher.engine;
        let rows = engine.audit_rows(&context.connection.caller, session_id, limit).await?;
        let registry = engine.registry();
        let logs: Vec<Value> = rows.iter().map(|row| entry(row, registry)).collect();
        Ok(json!({"count": logs.len(), "logs": logs, "limit": limit}))
    }
}

fn entry(row: &AuditRow, registry: &Registry) -> Value {
    let entry = &row.entry;
    let (operation, resource) = operation(&entry.target, registry);
    let result = match (entry.phase, entry.outcome.as_str()) {
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
