//! The OpenAPI document, made from the route table. Schemas and parameters are in `assets/openapi/components.json`.
//!
//! A generator (utoipa 6) was measured: it adds 41 s of CPU time to a release build and 0.2 MB to the binary, and its
//! attributes on the handlers would be more lines than the operations in the route table. Most bodies here are JSON that
//! wire formats prescribe, not Rust types from which schemas could be derived.

use serde_json::{Map, Value, json};

use super::route::{Access, Operation};
use super::routes::{Route, routes};

/// Schemas, parameters and responses that operations refer to by name.
const COMPONENTS: &str = include_str!("../../assets/openapi/components.json");

/// The OpenAPI document of this server.
pub fn openapi(version: &str) -> Value {
    let paths: Map<String, Value> = routes().iter().map(|route| (route.path.to_owned(), path_item(route))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mainstay",
            "version": version,
            "description": "MCP server and gateway: the Model Context Protocol, its dialects, and operation.",
        },
        "tags": [
            {"name": "agents", "description": "Coordination of agents by JSON-RPC and REST."},
            {"name": "mcp", "description": "The Model Context Protocol."},
            {"name": "mira", "description": "Tools as JSON-RPC methods."},
            {"name": "operation", "description": "Health, metrics, and this document."},
            {"name": "authorization", "description": "Access tokens."},
        ],
        "security": [{"bearer": []}],
        "paths": paths,
        // A test parses the components; an empty document would fail it.
        "components": serde_json::from_str::<Value>(COMPONENTS).unwrap_or_default(),
    })
}

fn path_item(route: &Route) -> Value {
    let operation = |operation: &Operation| (operation.method.to_ascii_lowercase(), describe(route.access, operation));
    route.operations.iter().map(operation).collect::<Map<_, _>>().into()
}

/// The operation with what follows from the access: no security, or the responses of the token check.
fn describe(access: Access, operation: &Operation) -> Value {
    let mut description = operation.description.clone();
    match access {
        Access::Public => description["security"] = json!([]),
        Access::Token => {
            let responses = &mut description["responses"];
            responses["401"] = json!({"$ref": "#/components/responses/Unauthorized"});
            if responses.get("503").is_none() {
                responses["503"] = json!({"$ref": "#/components/responses/TokenCheckUnavailable"});
            }
        }
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else_is() {
        let document = openapi("1.2.3");
        let paths = document["paths"].as_object().unwrap();
        let described: Vec<&str> = paths.keys().map(String::as_str).collect();
        let mut served: Vec<&str> = routes().iter().map(|route| route.path).collect();
        served.sort_unstable();
        assert_eq!(described, served);
        for route in routes() {
            let operations = paths[route.path].as_object().unwrap();
            assert!(!operations.is_empty(), "{}", route.path);
            for operation in operations.values() {
                assert!(!operation["summary"].as_str().unwrap().is_empty(), "{}", route.path);
                assert_eq!(operation["security"] == json!([]), route.access == Access::Public, "{}", route.path);
                assert!(operation["responses"].as_object().is_some_and(|all| !all.is_empty()), "{}", route.path);
            }
        }
    }

    #[test]
    fn error_responses_are_described_with_their_status_and_schema() {
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
        let reference = consent["content"]["application/json"]["schema"]["$ref"].as_str().unwrap();
        let schema = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
        assert_eq!(schema["properties"], json!({"success": {"const": false}, "error": {"type": "string"}}));
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
