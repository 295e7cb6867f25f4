//! Consent and the events, described.

use serde_json::{Value, json};

use super::{json_of, operation};

pub(super) fn consent() -> Value {
    let refused = json!({
        "type": "object",
        "properties": {"success": {"const": false}, "error": {"type": "string"}},
        "required": ["success", "error"],
    });
    let state = json!({
        "type": "object",
        "properties": {
            "consent_id": {"type": "string"},
            "status": {"type": "string", "enum": ["pending", "approved", "denied", "used", "expired"]},
            "operation": {"type": "string"},
            "requested_by": {"type": "string"},
            "expires_at": {"type": "string", "format": "date-time"},
        },
    });
    let decided = json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"}, "consent_id": {"type": "string"}, "status": {"type": "string"},
        },
    });
    let mut shown = json_of("The request, as JSON or as a page.", &state);
    shown["content"]["text/html"] = json!({});
    let get = operation(
        "agents",
        "A call that waits for a person",
        "A browser gets a page, and one where it signs in if it needs a token and has none.",
        &json!({
            "200": shown,
            "404": json_of("There is none, or it is none of yours.", &refused),
            "429": json_of("Too many requests.", &refused),
            "503": json_of("The store does not answer.", &refused),
        }),
    );
    let mut post = operation(
        "agents",
        "Approve or deny a call",
        "With tokens on this takes the scope \"consent\", and another person than the one who asks.",
        &json!({
            "200": json_of("It is decided.", &decided),
            "400": json_of("The decision cannot be read.", &refused),
            "403": json_of("You may not decide this.", &refused),
            "404": json_of("There is none, or it is none of yours.", &refused),
            "409": json_of("It is decided already.", &refused),
            "410": json_of("It has expired.", &refused),
            "413": json_of("The decision is too long.", &json!({"type": "object", "properties": {"error": {"type": "string"}}})),
            "415": json_of("The decision is not application/json.", &refused),
            "429": json_of("Too many requests.", &refused),
            "503": json_of("The store does not answer.", &refused),
        }),
    );
    post["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": ["approved", "denied"]}, "reason": {"type": "string"},
        },
        "required": ["decision"],
    }}}});
    json!({
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "get": get,
        "post": post,
    })
}

pub(super) fn ws() -> Value {
    let mut get = operation(
        "agents",
        "Hear what happens",
        "A WebSocket: tool_executed, prompt_used and resource_updated, each {id, event, data}. Send \
         {\"subscribe\": {\"events\": […], \"tools\": […]}} to hear less, {\"resume\": \"ID\"} for what came after an event.",
        &json!({
            "101": {"description": "The socket is open."},
            "400": {"description": "It is no handshake, or last_event_id is no number."},
            "403": {
                "description": "The token does not have the scope \"read\"; WWW-Authenticate says so.",
                "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
            },
            "503": {"description": "Nobody more can listen now, or you cannot: a tenth of the places is yours."},
        }),
    );
    get["parameters"] = json!([{"name": "last_event_id", "in": "query", "schema": {"type": "string"},
        "description": "Begin with what came after this event."}]);
    json!({ "get": get })
}
