//! The dialect `toolkit` (contract 004): the methods of the standard on stdio, every tool also as a method with a bare
//! result, nine error codes, a handshake with a state machine, and limits of size, number and rate.

mod decode;
mod errors;
mod list;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::schema::Validator;
use mainstay_core::{
    Block, Content, Contents, DialectPolicy, Error, PromptInfo, PromptReply, Quota, QuotaKind, Reply, ResourceInfo,
    Result, Role, ToolInfo,
};
use serde_json::{Map, Value, json};

use crate::connection_state::{ConnectionState, Event};
use crate::content::{self, bare, texts};
use crate::dialect::{Dialect, DialectEntry, Encoded, Limits, ServerState, ToolState};
use crate::error::ErrorResponse;
use crate::json::to_json;
use crate::jsonrpc::{Message, Refusal};
use crate::request::{Operation, Request};

use list::{Listed, TOOLS};

pub use list::NAME;

/// The version of the protocol that the contract names, whichever the client asks for.
const PROTOCOL: &str = "2024-11-05";

/// The server that the contract shows: its clients may look for this name and version.
const SERVER: (&str, &str) = ("paiml-mcp-agent-toolkit", "0.5.3");

/// The longest message in bytes. The contract's sizes are binary: its 8 KB are 8192 bytes in its own code.
pub const MESSAGE_BYTES: usize = 1024 * 1024;

/// The longest response in bytes.
pub const RESPONSE_BYTES: usize = 10 * 1024 * 1024;

/// The requests that run at once.
pub const IN_FLIGHT: usize = 128;

/// The length of the parts in which responses are written.
const WRITE_BYTES: usize = 8 * 1024;

/// A bucket of 1000 requests that refills in 10 seconds: both "1000 req/s burst" and "100 req/s sustained".
pub const QUOTA: Quota = Quota { calls: 1000, seconds: 10 };

/// Tools whose text is their result, in the format that was asked for. The text of the others is a summary for the model
/// on `/mcp`; here, where there is no structured content beside it, it is their value.
const TEXT_RESULTS: [&str; 3] = ["generate_template", "analyze_complexity", "analyze_code_churn"];

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "Project templates, code complexity and churn: the standard's methods, and every tool as a method",
    only_family: None,
    build: |_| Ok(Arc::new(Toolkit::new()?)),
};

/// The dialect; the state of its connection is the transport's.
pub struct Toolkit {
    /// The arguments that the contract requires, by tool: our tools have defaults for some of them.
    required: HashMap<&'static str, Arc<Validator>>,
}

impl Toolkit {
    pub fn new() -> Result<Self> {
        let validator = |tool: &Listed| {
            let schema = Map::from_iter([("required".to_owned(), json!(tool.required))]);
            Ok((tool.name, Arc::new(Validator::new(&schema)?)))
        };
        Ok(Self { required: TOOLS.iter().map(validator).collect::<Result<_>>()? })
    }
}

impl Dialect for Toolkit {
    fn policy(&self) -> DialectPolicy {
        DialectPolicy {
            name: NAME,
            quota: Some(QUOTA),
            quota_kind: QuotaKind::Bucket,
            response_bytes: Some(RESPONSE_BYTES),
            ..DialectPolicy::default()
        }
    }

    fn request(&self, message: Message) -> Option<Request> {
        decode::request(message)
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    fn error(&self, error: &Error, operation: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_error(error, operation)
    }

    /// Text, because the contract has no other content.
    fn reply(&self, tool: &str, reply: Reply) -> Encoded {
        if reply.failed {
            return Err(errors::of_failed_reply(&reply));
        }
        let is_text = TEXT_RESULTS.contains(&tool);
        match reply.structured.filter(|_| !is_text) {
            Some(value) => text_result(&value.to_string()),
            None => match reply.content.as_slice() {
                // May be megabytes, and is not copied.
                [Block { content: Content::Text { text }, .. }] => text_result(text),
                blocks => text_result(&texts(blocks)),
            },
        }
    }

    /// The bare value. The contract's generated content is in it, which on `/mcp` is the text beside it.
    fn method_reply(&self, tool: &str, mut reply: Reply) -> Encoded {
        if reply.failed {
            return Err(errors::of_failed_reply(&reply));
        }
        if let Some(Value::Object(value)) = &mut reply.structured
            && tool == "generate_template"
            && !value.contains_key("content")
        {
            value.insert("content".to_owned(), texts(&reply.content).into());
        }
        encoded(&bare(reply))
    }

    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        list::tool(tool)
    }

    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        json!({ "tools": list::in_contract_order(entries) })
    }

    fn hides_disabled_tools(&self) -> bool {
        true
    }

    fn narrowed(&self, tool: &str) -> Option<Arc<Validator>> {
        self.required.get(tool).cloned()
    }

    fn unknown_name(&self, kind: &str, name: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_unknown_name(kind, name)
    }

    /// Exactly what the contract shows, for every client.
    fn initialize(&self, _params: &Value, _server: ServerState<'_>) -> Value {
        let (name, version) = SERVER;
        json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "serverInfo": {"name": name, "version": version},
        })
    }

    /// A template; its provider lists all of them.
    fn known_resource(&self) -> Option<&'static str> {
        Some("template://makefile/rust/cli")
    }

    fn resource_list(&self, resources: &[ResourceInfo]) -> Value {
        content::standard_resources(resources)
    }

    fn contents(&self, _uri: &str, contents: Vec<Contents>, _listed: Option<&ResourceInfo>) -> Result<Value> {
        Ok(content::standard_contents(contents))
    }

    fn prompt_entry(&self, prompt: &PromptInfo) -> Option<Value> {
        list::prompt(prompt)
    }

    fn prompt_list(&self, entries: Vec<Value>) -> Value {
        json!({ "prompts": entries })
    }

    fn prompt(&self, _name: &str, reply: PromptReply, _now: Timestamp) -> Result<Value> {
        let messages = reply.messages.into_iter().map(|message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({"role": role, "content": {"type": "text", "text": texts(&[message.content])}})
        });
        let messages: Vec<Value> = messages.collect();
        Ok(match reply.description {
            Some(description) => json!({"description": description, "messages": messages}),
            None => json!({ "messages": messages }),
        })
    }

    /// The contract's state machine: one `initialize`, before everything else, and nothing after a shutdown.
    fn accept(&self, state: &mut ConnectionState, operation: &Operation) -> std::result::Result<(), ErrorResponse> {
        let (allowed, method) = match operation {
            // It changes the state when it has succeeded.
            Operation::Initialize(_) => {
                let mut next = *state;
                (next.transition(Event::Initialize), "initialize")
            }
            Operation::Initialized => (state.transition(Event::Initialized), "notifications/initialized"),
            Operation::Shutdown => (state.request().and_then(|()| state.transition(Event::Shutdown)), "shutdown"),
            // What cannot be read gets its own error in every state.
            Operation::Malformed(_) | Operation::Cancel { .. } | Operation::Exit => return Ok(()),
            Operation::Ping => (state.request(), "ping"),
            Operation::ListTools(_) => (state.request(), "tools/list"),
            Operation::CallTool { .. } => (state.request(), "tools/call"),
            Operation::ListResources => (state.request(), "resources/list"),
            Operation::ListResourceTemplates => (state.request(), "resources/templates/list"),
            Operation::ReadResource { .. } => (state.request(), "resources/read"),
            Operation::ListPrompts => (state.request(), "prompts/list"),
            Operation::GetPrompt { .. } => (state.request(), "prompts/get"),
            Operation::CallMethod { .. } | Operation::UnknownMethod { .. } | Operation::InvalidParams(_) => {
                (state.request(), "This request")
            }
        };
        allowed.map_err(|refused| errors::of_state(refused.state, method))
    }

    fn runs_calls_without_id(&self) -> bool {
        false
    }

    fn limits(&self) -> Limits {
        Limits { message_bytes: Some(MESSAGE_BYTES), in_flight: Some(IN_FLIGHT), write_bytes: Some(WRITE_BYTES) }
    }

    fn answers_long_messages_by_id(&self) -> bool {
        true
    }
}

fn encoded(value: &Value) -> Encoded {
    to_json(value).map_err(|error| errors::of_error(&Error::internal(error), ""))
}

/// The result of `tools/call`. The text may be long and is copied into the result only once.
fn text_result(text: &str) -> Encoded {
    #[derive(serde::Serialize)]
    struct Content<'a> {
        content: [Text<'a>; 1],
    }
    #[derive(serde::Serialize)]
    struct Text<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        text: &'a str,
    }
    to_json(&Content { content: [Text { kind: "text", text }] })
        .map_err(|error| errors::of_error(&Error::internal(error), ""))
}

#[cfg(test)]
mod tests;
