//! The server's own description: every route of the table, and nothing else.

mod agents;
mod consent;
mod oauth;
mod shapes;

use serde_json::{Map, Value, json};

use super::api::View;
use super::{Access, Route};

/// The OpenAPI document of this server.
pub fn openapi(version: &str) -> Value {
    let paths: Map<String, Value> =
        Route::ALL.into_iter().map(|route| (route.path().to_owned(), path(route))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mainstay",
            "version": version,
            "description": "An MCP server and gateway: the standard protocol, its dialects, and what operators need.",
        },
        "tags": [
            {"name": "agents", "description": "Coordination of several agents: JSON-RPC and REST."},
            {"name": "mcp", "description": "The Model Context Protocol."},
            {"name": "mira", "description": "Tools as methods."},
            {"name": "operation", "description": "Health, metrics, and this document."},
            {"name": "authorization", "description": "Where access tokens come from."},
        ],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": shapes::components(),
    })
}

/// The methods of a route. Who may use them is what the router itself goes by.
fn path(route: Route) -> Value {
    let mut methods = describe(route);
    for operation in methods.as_object_mut().into_iter().flat_map(Map::values_mut).filter(|value| value.is_object()) {
        match route.access() {
            Access::Everybody => operation["security"] = json!([]),
            Access::Token => {
                operation["responses"]["401"] = json!({"$ref": "#/components/responses/Unauthorized"});
                if operation["responses"].get("503").is_none() {
                    operation["responses"]["503"] = json!({"$ref": "#/components/responses/Unknown"});
                }
            }
        }
    }
    methods
}

fn describe(route: Route) -> Value {
    match route {
        Route::Mcp => json!({
            "post": refusing(message("mcp", "Send a message of the standard protocol", "Streamable HTTP, in every version \
                from 2024-11-05 to 2026-07-28. The answer is JSON or a stream of events.")),
            "get": operation("mcp", "Listen to a session", "A stream of what the server says by itself, in sessions of \
                the versions before 2026-07-28.", &stream()),
            "delete": operation("mcp", "End a session", "Needs the header Mcp-Session-Id.", &json!({"204": {"description": "It has ended."}})),
        }),
        Route::Rpc => {
            json!({"post": refusing(message("mira", "Call a tool", "The method is the tool's name, the params are its \
            arguments, the result is its value. A call with stream=true can be answered as a stream of events."))})
        }
        Route::Jsonrpc => agents::jsonrpc(),
        Route::Api(view) => json!({"get": agents::view(view)}),
        Route::ApiHealth => json!({"get": agents::health()}),
        Route::OpenApi => json!({"get": shown("operation", "This document", "application/json")}),
        Route::Docs => json!({"get": shown("operation", "This document as a page", "text/html")}),
        Route::DocsScript => json!({"get": shown("operation", "The script of that page", "text/javascript")}),
        Route::DocsStyle => json!({"get": shown("operation", "The style of that page", "text/css")}),
        Route::Health => {
            let mut get = shown("operation", "Whether the server can do its work", "application/json");
            get["responses"]["503"] = json_of("The store does not answer.", &json!({"type": "object"}));
            json!({ "get": get })
        }
        Route::Metrics => json!({"get": shown("operation", "Metrics for Prometheus", "application/openmetrics-text")}),
        Route::Consent => consent::consent(),
        Route::ConsentStyle => json!({"get": shown("agents", "The style of consent pages", "text/css")}),
        Route::Ws => consent::ws(),
        Route::Token => oauth::token(),
        Route::Revoke => oauth::revoke(),
        Route::Keys => oauth::keys(),
        Route::Issuer => oauth::issuer(),
        Route::Metadata | Route::McpMetadata => json!({"get": operation("authorization", "Where a token is to be had",
            "RFC 9728. Not there where no token is needed.",
            &json!({"200": json_of("The metadata.", &json!({"type": "object"})), "404": {"description": "No token is needed."}}))}),
    }
}

fn operation(tag: &str, summary: &str, description: &str, responses: &Value) -> Value {
    json!({"tags": [tag], "summary": summary, "description": description, "responses": responses})
}

fn shown(tag: &str, summary: &str, kind: &str) -> Value {
    operation(tag, summary, "", &json!({"200": {"description": "As asked for.", "content": {kind: {}}}}))
}

/// One JSON-RPC message in, one out.
fn message(tag: &str, summary: &str, description: &str) -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let mut described = operation(
        tag,
        summary,
        description,
        &json!({"200": json_of("The answer.", &reference("Response")), "202": {"description": "Nothing to answer."}}),
    );
    described["requestBody"] =
        json!({"required": true, "content": {"application/json": {"schema": reference("Request")}}});
    described
}

/// A message that is too long or no JSON is not looked at.
fn refusing(mut described: Value) -> Value {
    described["responses"]["413"] = json!({"description": "The message is longer than server.message_bytes."});
    described["responses"]["415"] = json!({"description": "The message is not application/json."});
    described
}

fn stream() -> Value {
    json!({"200": {"description": "Events.", "content": {"text/event-stream": {}}}})
}

fn json_of(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else_is() {
        let document = openapi("1.2.3");
        let paths = document["paths"].as_object().unwrap();
        let described: Vec<&str> = paths.keys().map(String::as_str).collect();
        let mut served: Vec<&str> = Route::ALL.map(Route::path).to_vec();
        served.sort_unstable();
        assert_eq!(described, served);
        for route in Route::ALL {
            let operations = paths[route.path()].as_object().unwrap();
            assert!(!operations.is_empty(), "{route:?}");
            for operation in operations.values().filter(|value| value.is_object()) {
                assert!(!operation["summary"].as_str().unwrap().is_empty(), "{route:?}");
                assert_eq!(operation["security"] == json!([]), route.access() == Access::Everybody, "{route:?}");
                assert!(operation["responses"].as_object().is_some_and(|all| !all.is_empty()), "{route:?}");
            }
        }
    }

    #[test]
    fn what_is_refused_is_described_with_its_status_and_shape() {
        let document = openapi("1.2.3");
        let has = |path: &str, method: &str, statuses: &[&str]| {
            let responses = &document["paths"][path][method]["responses"];
            for status in statuses {
                assert!(responses[status].is_object(), "{method} {path} {status}");
            }
        };
        has("/jsonrpc", "post", &["400", "401", "403", "405", "415", "429", "500"]);
        has("/ws", "get", &["400", "401", "403", "503"]);
        has("/api/mcp/health", "get", &["200", "503"]);
        has("/health", "get", &["200", "503"]);
        has("/oauth/token", "post", &["400", "401", "404", "413", "429", "503"]);
        has("/rpc", "post", &["401", "413", "415"]);
        has("/api/mcp/consent/{id}", "post", &["400", "403", "404", "409", "410", "413", "415", "429", "503"]);
        for view in ["status", "resources", "prompts", "capabilities", "security", "audit"] {
            let path = format!("/api/mcp/{view}");
            has(&path, "get", &["400", "401", "403", "429", "500"]);
            let parameters = document["paths"][&path]["get"]["parameters"].as_array().unwrap();
            assert!(parameters.contains(&json!({"$ref": "#/components/parameters/SessionId"})), "{view}");
        }
        let consent = &document["paths"]["/api/mcp/consent/{id}"]["post"]["responses"]["409"];
        let refused = &consent["content"]["application/json"]["schema"]["properties"];
        assert_eq!(refused, &json!({"success": {"const": false}, "error": {"type": "string"}}));
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    members.values().for_each(|member| references(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = openapi("1.2.3");
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
