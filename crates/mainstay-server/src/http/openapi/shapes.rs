//! The shapes that travel.

use serde_json::{Value, json};

pub(super) fn components() -> Value {
    json!({
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "Needed where the server is set up with authentication."}},
        "responses": {"Unauthorized": {
            "description": "A token is missing or not good; WWW-Authenticate says where to get one.",
            "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}}},
            "Unknown": {"description": "Whether the token is good cannot be found out now."}},
        "parameters": parameters(),
        "schemas": schemas(),
    })
}

fn parameters() -> Value {
    let header = |name: &str, description: &str| json!({"name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"}});
    json!({
        "SessionId": header("X-Session-ID", "The session that initialize opened."),
        "UserId": header("X-User-ID", "Whom the client acts for; noted, and never believed."),
        "RequestId": header("X-Request-ID", "Up to 128 printable characters; comes back, and is in the audit."),
        "IdempotencyKey": header("Idempotency-Key", "A call under the same key is made once."),
    })
}

fn schemas() -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let many = |of: Value| json!({"type": "array", "items": of});
    let (text, number, object) = (json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "object"}));
    let id = json!({"type": ["string", "number", "null"]});
    json!({
        "Request": {"type": "object", "required": ["jsonrpc", "method"], "properties": {
            "jsonrpc": {"const": "2.0"}, "id": id, "method": text, "params": object}},
        "Response": {"type": "object", "required": ["jsonrpc", "id"], "properties": {
            "jsonrpc": {"const": "2.0"}, "id": id, "result": {}, "error": reference("Error")}},
        "Error": {"type": "object", "required": ["code", "message"], "properties": {
            "code": number, "message": text, "data": {}}},
        "Refusal": {"type": "object", "required": ["error"], "properties": {"error": reference("Error")}},
        "Health": {"type": "object", "required": ["status", "version"], "properties": {
            "status": {"enum": ["healthy", "unhealthy"]}, "version": text}},
        "Capabilities": {"type": "object", "required": ["protocol_version", "supports", "features"], "properties": {
            "protocol_version": text, "supports": many(text.clone()),
            "features": {"type": "object", "additionalProperties": {"type": "boolean"}}}},
        "Resource": {"type": "object", "required": ["uri", "name"], "properties": {
            "uri": text, "name": text, "type": text, "description": text}},
        "Resources": {"type": "object", "required": ["resources"], "properties": {"resources": many(reference("Resource"))}},
        "Prompt": {"type": "object", "required": ["name", "description", "arguments", "template"], "properties": {
            "name": text, "description": text, "template": text, "arguments": many(json!({"type": "object", "properties": {
                "name": text, "type": {"const": "string"}, "required": {"type": "boolean"}}}))}},
        "Prompts": {"type": "object", "required": ["prompts"], "properties": {"prompts": many(reference("Prompt"))}},
        "Status": {"type": "object", "required": ["status", "mcp_version", "capabilities", "agents", "activities", "system_stats"],
            "properties": {
                "status": text, "mcp_version": text, "capabilities": reference("Capabilities"),
                "agents": many(object.clone()), "activities": many(object.clone()),
                "system_stats": {"type": "object", "additionalProperties": {"type": "integer"}}}},
        "Security": {"type": "object", "required": ["security", "policies"], "properties": {
            "security": object, "policies": object}},
        "AuditRow": {"type": "object", "required": ["id", "timestamp", "operation", "result", "request_id"], "properties": {
            "id": number, "timestamp": {"type": "integer", "description": "Seconds of Unix time."},
            "session_id": {"type": ["string", "null"]}, "operation": text, "resource": {"type": ["string", "null"]},
            "result": {"type": "string", "description": "success, started, or why it failed."},
            "ip_address": {"type": ["string", "null"]}, "request_id": text}},
        "Audit": {"type": "object", "required": ["logs", "count", "limit"], "properties": {
            "logs": many(reference("AuditRow")), "count": number, "limit": number}},
    })
}
