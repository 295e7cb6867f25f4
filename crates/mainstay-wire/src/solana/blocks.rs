//! Content blocks in the contract's form: text, image and resource, each with its annotations.

use base64::Engine as _;
use mainstay_core::{Annotations, Block, Content, Role, iso8601};
use serde_json::{Map, Value, json};

use crate::content::{BASE64, standard_resource};

/// One block. Audio came later than this version of the protocol; it is described, so that nothing is lost unseen.
pub(super) fn block(block: Block) -> Value {
    let mut value = match block.content {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime } => json!({"type": "image", "data": BASE64.encode(data), "mimeType": mime}),
        Content::Audio { data, mime } => {
            json!({"type": "text", "text": format!("[audio, {mime}, {} bytes]", data.len())})
        }
        Content::Resource(contents) => json!({"type": "resource", "resource": standard_resource(contents)}),
    };
    if let Some(annotations) = block.annotations.as_ref().map(annotations).filter(|members| !members.is_empty()) {
        value["annotations"] = Value::Object(annotations);
    }
    value
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
        members.insert("lastModified".to_owned(), json!(iso8601(time.as_millisecond())));
    }
    members
}
