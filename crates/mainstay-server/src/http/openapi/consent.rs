//! Consent and the events, described.

use serde_json::{Value, json};

use super::{json_of, operation};

pub(super) fn consent() -> Value {
    let refused = json!({"$ref": "#/components/schemas/Refusal"});
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
        "A browser gets a page.",
        &json!({
            "200": shown,
            "404": json_of("There is none, or it is none of yours.", &refused),
        }),
    );
    let mut post = operation(
        "agents",
        "Approve or deny a call",
        "With tokens on this takes the scope \"consent\", and another person than the one who asks.",
        &json!({
            "200": json_of("It is decided.", &decided),
            "403": json_of("You may not decide this.", &refused),
            "404": json_of("There is none, or it is none of yours.", &refused),
            "409": json_of("It is decided already.", &refused),
            "410": json_of("It has expired.", &refused),
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
        &json!({"101": {"description": "The socket is open."}}),
    );
    get["parameters"] = json!([{"name": "last_event_id", "in": "query", "schema": {"type": "string"},
        "description": "Begin with what came after this event."}]);
    json!({ "get": get })
}
