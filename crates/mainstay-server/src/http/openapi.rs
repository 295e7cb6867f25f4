//! The OpenAPI document, made from the route table. Schemas and parameters are in `assets/openapi/components.json`.
//!
//! A generator (utoipa 6) was measured: it adds 41 s of CPU time to a release build and 0.2 MB to the binary, and its
//! attributes on the handlers would be more lines than the operations in the route table. Most bodies here are JSON that
//! wire formats prescribe, not Rust types from which schemas could be derived.

use serde_json::{Map, Value, json};

use super::api::PREFIX;
use super::route::{Access, Operation};
use super::routes::{Route, routes};

/// Schemas, parameters and responses that operations refer to by name.
const COMPONENTS: &str = include_str!("../../assets/openapi/components.json");

/// The OpenAPI document of a server, which requires tokens (`requires_token`) or accepts calls without.
pub fn openapi(version: &str, requires_token: bool) -> Value {
    let paths: Map<String, Value> = routes().iter().map(|route| (route.path.to_owned(), path_item(route))).collect();
    let (tokens, security) = if requires_token {
        ("Operations need an access token, unless they say otherwise.", json!([{"bearer": []}]))
    } else {
        // A token that is sent has to be valid all the same.
        (
            "This server needs no access token; it accepts its own, to do with fewer permissions.",
            json!([{}, {"bearer": []}]),
        )
    };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mainstay",
            "version": version,
            "description": format!(
                "MCP server and gateway: the Model Context Protocol, its dialects, and operation. {tokens} Every response \
                 has the header X-Request-ID: the request's own, or one made for it."
            ),
        },
        // Wherever the document was read from: the server may be behind a proxy with another name.
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "agents", "description": "Coordination of agents by JSON-RPC and REST."},
            {"name": "mcp", "description": "The Model Context Protocol."},
            {"name": "mira", "description": "Tools as JSON-RPC methods."},
            {"name": "solana", "description": "The Solana chain as JSON-RPC methods."},
            {"name": "operation", "description": "Health, metrics, and this document."},
            {"name": "authorization", "description": "Access tokens."},
        ],
        "security": security,
        "paths": paths,
        // A test parses the components; an empty document would fail it.
        "components": serde_json::from_str::<Value>(COMPONENTS).unwrap_or_default(),
    })
}

fn path_item(route: &Route) -> Value {
    let operation = |operation: &Operation| (operation.method.to_ascii_lowercase(), describe(route, operation));
    route.operations.iter().map(operation).collect::<Map<_, _>>().into()
}

/// The operation with what follows from its route: a name, no security or the responses of the token check, and the
/// responses that any request can get.
fn describe(route: &Route, operation: &Operation) -> Value {
    let mut description = operation.description.clone();
    description["operationId"] = operation_id(operation.method, route.path).into();
    let mut responds = |status: &str, response: &str| {
        if description["responses"].get(status).is_none() {
            let prefix = if route.path.starts_with(PREFIX) { "Api" } else { "" };
            description["responses"][status] = json!({"$ref": format!("#/components/responses/{prefix}{response}")});
        }
    };
    // Before its route: the names of the server and of web pages, and a body that does not arrive.
    responds("403", "Forbidden");
    if operation.example.is_some() {
        responds("400", "Incomplete");
        responds("408", "Slow");
        responds("503", "Unavailable");
    }
    match route.access {
        Access::Token => {
            responds("401", "Unauthorized");
            responds("503", "Unavailable");
        }
        Access::Public => description["security"] = json!([]),
    }
    description
}

/// A name from the method and the path: `get_api_mcp_status`.
fn operation_id(method: &str, path: &str) -> String {
    let path = if path == "/" { "root" } else { path };
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(method.to_ascii_lowercase(), |name, word| name + "_" + word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else_is() {
        let document = openapi("1.2.3", true);
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
        let document = openapi("1.2.3", true);
        let has = |path: &str, method: &str, statuses: &[&str]| {
            let responses = &document["paths"][path][method]["responses"];
            for status in statuses {
                assert!(responses[status].is_object(), "{method} {path} {status}");
            }
        };
        has("/jsonrpc", "post", &["400", "401", "403", "405", "415", "429", "500"]);
        has("/ws", "get", &["400", "401", "403", "426", "503"]);
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
        assert_eq!(reference, "#/components/schemas/ApiError");
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_the_errors_of_the_api_have_one_schema() {
        let document = openapi("1.2.3", true);
        let mut names = std::collections::BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(names.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let response = match response["$ref"].as_str() {
                        Some(reference) => document.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
                        None => response,
                    };
                    if path.starts_with(PREFIX) && status.as_str() >= "400" && path != "/api/mcp/health" {
                        let schema = &response["content"]["application/json"]["schema"]["$ref"];
                        assert_eq!(schema, "#/components/schemas/ApiError", "{method} {path} {status}");
                    }
                }
            }
        }
        assert!(names.contains("get_api_mcp_consent_id") && names.contains("get_root"), "{names:?}");
    }

    #[test]
    fn the_document_says_whether_a_token_is_needed_and_where_the_server_is() {
        assert_eq!(openapi("1.2.3", true)["security"], json!([{"bearer": []}]));
        assert_eq!(openapi("1.2.3", false)["security"], json!([{}, {"bearer": []}]));
        assert_eq!(openapi("1.2.3", false)["servers"][0]["url"], "/");
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
        let document = openapi("1.2.3", true);
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
