//! Content blocks in the contract's form: text, image and resource, each with its annotations.

use mainstay_core::{Annotations, Block, Body, Content, Contents, Role};
use serde_json::{Map, Value, json};

use crate::content::{self, BASE64};
use base64::Engine as _;

/// One block. Audio came later than this version of the protocol; it is described, so that nothing is lost unseen.
pub(super) fn block(block: Block) -> Value {
    let mut value = match block.content {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime } => json!({"type": "image", "data": BASE64.encode(data), "mimeType": mime}),
        Content::Audio { data, mime } => {
            json!({"type": "text", "text": format!("[audio, {mime}, {} bytes]", data.len())})
        }
        Content::Resource(contents) => json!({"type": "resource", "resource": resource(contents)}),
    };
    if let Some(annotations) = block.annotations.as_ref().map(annotations).filter(|members| !members.is_empty()) {
        value["annotations"] = Value::Object(annotations);
    }
    value
}

fn resource(Contents { uri, mime, body }: Contents) -> Value {
    let member = if matches!(body, Body::Text(_)) { "text" } else { "blob" };
    json!({"uri": uri, "mimeType": mime, member: content::body(body)})
}

/// What is not known is left out.
fn annotations(annotations: &Annotations) -> Map<String, Value> {
    let role = |role: &Role| match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut members = Map::new();
    if !annotations.audience.is_empty() {
        let audience: Vec<&str> = annotations.audience.iter().map(role).collect();
        members.insert("audience".to_owned(), json!(audience));
    }
    if let Some(priority) = annotations.priority {
        members.insert("priority".to_owned(), json!(priority));
    }
    if let Some(time) = annotations.last_modified {
        members.insert("lastModified".to_owned(), json!(time.to_string()));
    }
    members
}
