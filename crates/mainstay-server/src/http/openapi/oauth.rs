//! The authorization server, described.

use serde_json::{Value, json};

use super::{json_of, operation};

const TAG: &str = "authorization";

pub(super) fn token() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "grant_type": {"type": "string", "enum": ["client_credentials", "refresh_token"]},
            "client_id": {"type": "string"},
            "client_secret": {"type": "string"},
            "scope": {"type": "string", "example": "read write execute"},
            "refresh_token": {"type": "string"},
        },
        "required": ["grant_type"],
    });
    let given = json!({
        "type": "object",
        "properties": {
            "access_token": {"type": "string"},
            "token_type": {"type": "string", "const": "Bearer"},
            "expires_in": {"type": "integer", "example": 86400},
            "scope": {"type": "string"},
            "refresh_token": {"type": "string"},
        },
        "required": ["access_token", "token_type", "expires_in", "scope", "refresh_token"],
    });
    asked(
        "Get an access token",
        "OAuth 2.1, as JSON or form. A client proves itself by its secret, in the body or by HTTP Basic.",
        &schema,
        &json!({"200": json_of("The token.", &given)}),
    )
}

pub(super) fn revoke() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "token": {"type": "string"},
            "token_type_hint": {"type": "string"},
            "client_id": {"type": "string"},
            "client_secret": {"type": "string"},
        },
        "required": ["token"],
    });
    let done = json!({"200": {"description": "It is of no use any more, if it ever was."}});
    asked("Revoke a token", "RFC 7009: an access token, or a refresh token with all that came of it.", &schema, &done)
}

pub(super) fn keys() -> Value {
    let keys = json_of("A JWK set.", &json!({"type": "object"}));
    json!({"get": operation(TAG, "The keys that tokens are signed with", "", &with_none(&json!({ "200": keys })))})
}

pub(super) fn issuer() -> Value {
    let metadata = json_of("The metadata.", &json!({"type": "object"}));
    json!({"get": operation(TAG, "What the authorization server can do", "RFC 8414.", &with_none(&json!({ "200": metadata })))})
}

fn asked(summary: &str, description: &str, schema: &Value, responses: &Value) -> Value {
    let mut post = operation(TAG, summary, description, &with_none(responses));
    post["requestBody"] = json!({"required": true, "content": {
        "application/json": {"schema": schema},
        "application/x-www-form-urlencoded": {"schema": schema},
    }});
    let refused = json!({"type": "object", "properties": {
        "error": {"type": "string", "example": "invalid_client"}, "error_description": {"type": "string"},
    }});
    for (status, description) in [
        ("400", "The request is not a sound one."),
        ("401", "The client is not known, or did not prove itself."),
        ("413", "The request is too long."),
        ("429", "Too many failures; see Retry-After."),
        ("503", "The store does not answer."),
    ] {
        post["responses"][status] = json_of(description, &refused);
    }
    json!({ "post": post })
}

fn with_none(responses: &Value) -> Value {
    let mut responses = responses.clone();
    responses["404"] = json!({"description": "Tokens are issued elsewhere."});
    responses
}
