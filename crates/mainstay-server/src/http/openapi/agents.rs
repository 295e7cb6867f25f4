//! The dialect `agents` and its REST API, described.

use serde_json::{Value, json};

use super::{View, json_of, message, operation};

pub(super) fn jsonrpc() -> Value {
    let mut post = message(
        "agents",
        "Coordinate agents by JSON-RPC",
        "Methods: initialize, tools/list, tools/call, resources/list, resources/read, prompts/list, prompts/execute. A \
         call under an Idempotency-Key that has been used answers with the first result, for 24 hours.",
    );
    post["parameters"] = ["SessionId", "UserId", "RequestId", "IdempotencyKey"].map(header).as_slice().into();
    post["requestBody"]["content"]["application/json"]["examples"] = json!({
        "initialize": {"summary": "Open a session", "value": request("initialize", &json!({
            "clientInfo": {"name": "Your Client", "version": "1.0.0"},
            "capabilities": ["tools", "resources", "prompts"]}))},
        "tools/list": {"summary": "List the tools", "value": request("tools/list", &json!({}))},
        "tools/call": {"summary": "Call a tool", "value": request("tools/call", &json!({
            "name": "log_activity",
            "arguments": {"agent": "backend-api", "activity": "Processing request", "category": "task"}}))},
        "resources/read": {"summary": "Read a resource", "value": request("resources/read", &json!({"uri": "db://schema/complete"}))},
        "prompts/execute": {"summary": "Fill in a prompt", "value": request("prompts/execute", &json!({
            "name": "deploy_system", "arguments": {"environment": "production"}}))},
    });
    let failed = |description: &str| json_of(description, &json!({"$ref": "#/components/schemas/Response"}));
    for (status, description) in [
        (
            "400",
            "Parse error (-32700), invalid request (-32600; a message that is too long is one), method not found \
             (-32601), invalid params (-32602).",
        ),
        ("403", "Consent required (-32003) or access denied (-32004)."),
        ("405", "Another method than POST (-32600)."),
        ("415", "The message is not application/json (-32600)."),
        ("429", "Rate limit exceeded (-32002); see Retry-After and X-RateLimit-Limit, -Remaining and -Reset."),
        ("500", "Internal error (-32603) or server error (-32000)."),
    ] {
        post["responses"][status] = failed(description);
    }
    json!({ "post": post })
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
}

fn header(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

pub(super) fn health() -> Value {
    let schema = json!({"$ref": "#/components/schemas/Health"});
    let responses =
        json!({"200": json_of("As asked for.", &schema), "503": json_of("The store does not answer.", &schema)});
    operation("agents", "Whether the server can do its work", "", &responses)
}

pub(super) fn view(view: View) -> Value {
    let (summary, schema) = match view {
        View::Status => ("How the agents and the server are doing", "Status"),
        View::Resources => ("The resources", "Resources"),
        View::Prompts => ("The prompts", "Prompts"),
        View::Capabilities => ("What can be done in a session", "Capabilities"),
        View::Security => ("What protects the server", "Security"),
        View::Audit => ("The newest rows of the audit", "Audit"),
    };
    let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
    let mut get = operation("agents", summary, "", &json!({"200": json_of("As asked for.", &schema)}));
    let mut parameters = ["SessionId", "UserId", "RequestId"].map(header).to_vec();
    match view {
        View::Status => {
            get["description"] =
                "The first 50 agents by name and the 50 newest activities; the counts are of all.".into();
        }
        View::Audit => {
            get["description"] = "A caller sees its own rows, an administrator all.".into();
            parameters.extend([
                json!({"name": "session_id", "in": "query", "schema": {"type": "string"}, "description": "Rows of this session only."}),
                json!({"name": "limit", "in": "query", "description": "How many rows.",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}}),
            ]);
        }
        View::Resources | View::Prompts | View::Capabilities | View::Security => {}
    }
    get["parameters"] = parameters.into();
    let refused = json!({"$ref": "#/components/schemas/Refusal"});
    for (status, description) in [
        ("400", "There is no such session, or a header or parameter cannot be used."),
        ("403", "The token does not have the scope \"read\"."),
        ("429", "Too many requests; see Retry-After and X-RateLimit-Limit, -Remaining and -Reset."),
        ("500", "What was asked for cannot be had now."),
    ] {
        get["responses"][status] = json_of(description, &refused);
    }
    get
}
