//! The content of a reply as JSON, for dialects that have no form of their own for it.

use base64::Engine as _;
pub(crate) use base64::engine::general_purpose::STANDARD as BASE64;
use mainstay_core::{Block, Body, Content, Contents, Reply, ResourceInfo};
use serde_json::{Value, json};

/// One block; binary data in base64.
fn block(block: Block) -> Value {
    match block.content {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime } => json!({"type": "image", "data": BASE64.encode(data), "mime": mime}),
        Content::Audio { data, mime } => json!({"type": "audio", "data": BASE64.encode(data), "mime": mime}),
        Content::Resource(Contents { uri, mime, body: Body::Text(text) }) => {
            json!({"type": "resource", "uri": uri, "mime": mime, "text": text})
        }
        Content::Resource(Contents { uri, mime, body: Body::Bytes(bytes) }) => {
            json!({"type": "resource", "uri": uri, "mime": mime, "data": BASE64.encode(bytes)})
        }
    }
}

/// Text as it is, bytes in base64.
pub(crate) fn body(body: Body) -> String {
    match body {
        Body::Text(text) => text,
        Body::Bytes(bytes) => BASE64.encode(bytes),
    }
}

/// One part of a resource that was read, as the standard has it.
pub(crate) fn standard_resource(Contents { uri, mime, body: content }: Contents) -> Value {
    let member = if matches!(content, Body::Text(_)) { "text" } else { "blob" };
    json!({"uri": uri, "mimeType": mime, member: body(content)})
}

/// The result of `resources/read`, as the standard has it.
pub(crate) fn standard_contents(contents: Vec<Contents>) -> Value {
    json!({ "contents": contents.into_iter().map(standard_resource).collect::<Vec<_>>() })
}

/// The result of `resources/list`, as the standard has it.
pub(crate) fn standard_resources(resources: &[ResourceInfo]) -> Value {
    let entry = |resource: &ResourceInfo| {
        let ResourceInfo { uri, name, mime, description, .. } = resource;
        json!({"uri": uri, "name": name, "description": description, "mimeType": mime})
    };
    json!({ "resources": resources.iter().map(entry).collect::<Vec<_>>() })
}

/// The text of a reply, one block a line; other blocks are left out.
pub(crate) fn texts(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

/// The value of a reply, bare. A reply that is only content becomes an object that holds it.
pub(crate) fn bare(reply: Reply) -> Value {
    match reply.structured {
        Some(value @ Value::Object(_)) => value,
        Some(value) => json!({ "value": value }),
        None => json!({ "content": reply.content.into_iter().map(block).collect::<Vec<_>>() }),
    }
}
