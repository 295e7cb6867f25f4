//! The JSON form of a typed reason, shared by the dialects and the standard endpoint.

use mainstay_core::{Problem, Reason, iso8601};
use serde_json::{Map, Value, json};

/// What an error's `data` member says; `None` for a reason that has nothing to add to the error's kind and message.
pub fn reason(reason: &Reason) -> Option<Value> {
    let data = match reason {
        Reason::Field { field, reason: Some(reason) } => json!({"field": field, "reason": reason}),
        Reason::Field { field, reason: None } => json!({ "field": field }),
        Reason::Problems(problems) | Reason::TemplateParameters(problems) => {
            json!({ "problems": problems.iter().map(problem).collect::<Vec<_>>() })
        }
        Reason::MissingScope(scope) => json!({ "required_scope": scope.as_str() }),
        Reason::RateLimited { limit, retry_after } => {
            json!({"retry_after": retry_after, "limit": limit, "remaining": 0})
        }
        Reason::PendingConsents { pending, id, url, operation, expires_ms } => json!({
            "pending": pending,
            "consent_id": id,
            "consent_url": url,
            "operation": operation,
            "expires_at": iso8601(*expires_ms),
        }),
        Reason::QueueFull { queue } => json!({ "queue": queue }),
        Reason::ConsentNeeded { id, url, operation, expires_ms } => json!({
            "consent_id": id,
            "consent_url": url,
            "operation": operation,
            "expires_at": iso8601(*expires_ms),
        }),
        Reason::ConsentDenied { id, reason, expires_ms } => {
            json!({"consent_id": id, "reason": reason, "expires_at": iso8601(*expires_ms)})
        }
        Reason::ConsentExpired => json!({ "expired": true }),
        Reason::Path { path } => json!({ "path": path }),
        Reason::EtagMismatch { path, etag } => json!({"path": path, "etag": etag}),
        Reason::FileTooLarge { path, size, limit } => json!({"path": path, "size": size, "limit": limit}),
        Reason::ReadTooLarge { size, max_bytes } => json!({"size": size, "max_bytes": max_bytes}),
        Reason::Resource { uri, reason: Some(reason) } | Reason::InvalidTemplateUri { uri, reason } => {
            json!({"uri": uri, "reason": reason})
        }
        Reason::Resource { uri, reason: None } | Reason::TemplateNotFound { uri } => json!({ "uri": uri }),
        Reason::ComponentOwned { component, owner } => json!({"component": component, "owner": owner}),
        Reason::MissingCapabilities(names) => {
            let needed: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({}))).collect();
            json!({ "requiredCapabilities": needed })
        }
        Reason::Cache(failure) => json!({ "code": failure.as_str() }),
        // Questions are asked in each protocol's own way and never reported as an error's data; a plan stays in the
        // pipeline. Which store is away only a code of contract 000 tells; elsewhere it is like anything unavailable.
        Reason::Questions(_) | Reason::Unapproved(_) | Reason::VectorStoreUnavailable => return None,
    };
    Some(data)
}

fn problem(problem: &Problem) -> Value {
    let mut data = json!({"path": problem.path, "rule": problem.rule, "reason": problem.reason});
    if let Some(property) = &problem.property {
        data["property"] = json!(property);
    }
    data
}
