//! Tables from our own types to the SDK's. Each match is exhaustive, so that a new kind of error or content block does not
//! compile until its representation in the protocol is decided.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mainstay_core::{
    Annotations, Block, Body, Content, Contents, Effect, Error, Kind, PromptInfo, PromptReply, Reason, Reply,
    ResourceInfo, ResourceTemplate, Role, ToolInfo, iso8601,
};
use mainstay_wire::reason;
use rmcp::model::{self as wire, CallToolResult, ContentBlock, ErrorData};
use serde_json::{Value, json};

use super::request::Era;
use super::shared::Shared;

/// A tool of the list. The annotations follow from its effect, so that they cannot contradict what the tool may do.
pub(super) fn tool(info: &ToolInfo) -> wire::Tool {
    let mut tool = wire::Tool::default();
    tool.name = info.listed.clone().into();
    tool.title = non_empty(info.title);
    tool.description = non_empty(info.description).map(Into::into);
    tool.input_schema = info.input_schema.clone();
    tool.output_schema.clone_from(&info.output_schema);
    // The protocol has the title in two places: versions before 2025-06-18 know only the one in the annotations.
    let mut hints = wire::ToolAnnotations::default();
    hints.title = non_empty(info.title);
    hints.read_only_hint = Some(info.effect == Effect::Reads);
    // A command can do anything, so it counts as destructive.
    hints.destructive_hint = Some(matches!(info.effect, Effect::Destroys | Effect::Executes));
    hints.idempotent_hint = Some(info.idempotent);
    hints.open_world_hint = Some(info.open_world);
    tool.annotations = Some(hints);
    tool
}

/// The protocol leaves out what is not known; our own types have an empty string there.
fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// A resource of the list.
pub(super) fn resource(info: ResourceInfo) -> wire::Resource {
    let mut resource = wire::Resource::new(info.uri, info.name);
    resource.title = info.title;
    resource.description = info.description;
    resource.mime_type = info.mime;
    resource.size = info.size;
    resource
}

/// A resource template of the list.
pub(super) fn template(template: ResourceTemplate) -> wire::ResourceTemplate {
    let mut out = wire::ResourceTemplate::new(template.uri, template.name);
    out.title = template.title;
    out.description = template.description;
    out.mime_type = template.mime;
    out
}

/// A prompt of the list.
pub(super) fn prompt(info: PromptInfo) -> wire::Prompt {
    let arguments = info
        .arguments
        .into_iter()
        .map(|argument| {
            wire::PromptArgument::new(argument.name)
                .with_description(argument.description)
                .with_required(argument.required)
        })
        .collect();
    let mut prompt = wire::Prompt::new(info.name, Some(info.description), Some(arguments));
    prompt.title = info.title;
    prompt
}

/// A rendered prompt.
pub(super) fn prompt_reply(reply: PromptReply) -> wire::GetPromptResult {
    let messages = reply
        .messages
        .into_iter()
        .map(|message| {
            let role = match message.role {
                Role::User => wire::Role::User,
                Role::Assistant => wire::Role::Assistant,
            };
            wire::PromptMessage::new(role, block(message.content))
        })
        .collect();
    let mut result = wire::GetPromptResult::new(messages);
    result.description = reply.description;
    result
}

/// One part of a resource that was read. Text travels as it is, bytes in base64: JSON has no other place for them.
pub(super) fn contents(Contents { uri, mime, body }: Contents) -> wire::ResourceContents {
    let out = match body {
        Body::Text(text) => wire::ResourceContents::text(text, uri),
        Body::Bytes(bytes) => wire::ResourceContents::blob(BASE64.encode(bytes), uri),
    };
    match mime {
        Some(mime) => out.with_mime_type(mime),
        None => out,
    }
}

/// How many bytes a result has as JSON.
pub(super) fn size(result: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written fails where it is sent.
    let _ = serde_json::to_writer(&mut count, result);
    count.0
}

/// Adds the id under which the log and the audit know a call, and the server's name and version.
pub(super) fn with_request_id(shared: &Shared, era: Era, mut result: CallToolResult, id: &str) -> CallToolResult {
    let meta = result.meta.get_or_insert_with(wire::MetaObject::new);
    meta.0.insert("io.mainstay/requestId".into(), Value::String(id.to_owned()));
    shared.stamp(era, &mut result.meta);
    result
}

/// `failed` is the tool's own report; the call itself succeeded, and the model reads what went wrong.
pub(super) fn reply(reply: Reply) -> CallToolResult {
    let content = reply.content.into_iter().map(block).collect();
    let mut result = if reply.failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = reply.structured;
    result
}

fn annotated(mut block: ContentBlock, annotations: Annotations) -> ContentBlock {
    let mut out = wire::Annotations::default();
    let role = |role| match role {
        Role::User => wire::Role::User,
        Role::Assistant => wire::Role::Assistant,
    };
    out.audience = Some(annotations.audience.into_iter().map(role).collect()).filter(|all: &Vec<_>| !all.is_empty());
    #[expect(clippy::cast_possible_truncation, reason = "the SDK has no more digits, and an importance needs none")]
    let priority = annotations.priority.map(|priority| priority as f32);
    out.priority = priority;
    out.last_modified = annotations.last_modified.map(|time| iso8601(time.as_millisecond()));
    match &mut block {
        ContentBlock::Text(content) => content.annotations = Some(out),
        ContentBlock::Image(content) => content.annotations = Some(out),
        ContentBlock::Audio(content) => content.annotations = Some(out),
        ContentBlock::Resource(content) => content.annotations = Some(out),
        // No block of ours is one.
        ContentBlock::ResourceLink(_) | _ => {}
    }
    block
}

/// A content block. Images and audio travel in base64, like the bytes of a resource.
fn block(block: Block) -> ContentBlock {
    let out = match block.content {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime } => ContentBlock::image(BASE64.encode(data), mime),
        Content::Audio { data, mime } => ContentBlock::audio(BASE64.encode(data), mime),
        Content::Resource(resource) => ContentBlock::resource(contents(resource)),
    };
    match block.annotations {
        Some(annotations) => annotated(out, annotations),
        None => out,
    }
}

/// The result of a failed tool call. It is a result that the model can read and react to; only an unknown tool, or a
/// missing capability in the stateless protocol, is an error of the protocol.
pub(super) fn tool_error(error: Error, era: Era) -> Result<CallToolResult, ErrorData> {
    // The stateless protocol has a code that tells the client which capability to declare.
    if error.kind == Kind::Unknown || (era == Era::Stateless && needs_capability(&error)) {
        return Err(protocol_error(error));
    }
    let data = error.reason.as_deref().and_then(reason);
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.public)]);
    let meta = result.meta.get_or_insert_default();
    meta.0.insert("io.mainstay/error".into(), json!({"kind": error.kind.as_str(), "data": data}));
    Ok(result)
}

/// Whether the call failed because the client did not declare a capability.
fn needs_capability(error: &Error) -> bool {
    matches!(error.reason.as_deref(), Some(Reason::MissingCapabilities(_)))
}

/// The error codes of the standard protocol.
pub(super) fn protocol_error(error: Error) -> ErrorData {
    // The code of an error follows from its kind; the reason, as JSON, becomes the error's data.
    let needs_capability = needs_capability(&error);
    let data = error.reason.as_deref().and_then(reason);
    match error.kind {
        // What another request of the same client could do better.
        Kind::Invalid | Kind::Unknown | Kind::TooLarge | Kind::Conflict => {
            ErrorData::invalid_params(error.public, data)
        }
        Kind::NotFound => ErrorData::resource_not_found(error.public, data),
        Kind::Unsupported if needs_capability => {
            ErrorData::new(wire::ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, error.public, data)
        }
        // Well-formed, and rejected for what it is or for who sent it.
        Kind::Denied
        | Kind::Unauthorized
        | Kind::ConsentRequired
        | Kind::RateLimited
        | Kind::Cancelled
        | Kind::Unsupported
        | Kind::InputRequired => ErrorData::invalid_request(error.public, data),
        // Not the client's fault: the same request may succeed later.
        Kind::Unavailable | Kind::TimedOut | Kind::Internal => ErrorData::internal_error(error.public, data),
    }
}
