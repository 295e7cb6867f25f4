//! The dialect `solana` (contract 003): the methods of the standard, version 2024-11-05, over HTTP and stdio. Results are
//! content with annotations, every tool is also a method, and every error names the version of the protocol.

mod blocks;
mod decode;
mod errors;

use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::{Contents, DialectPolicy, Error, Reply, ResourceInfo, ResourceTemplate, Result, ToolInfo};
use serde_json::{Map, Value, json};

use crate::connection_state::{ConnectionState, Event};
use crate::content;
use crate::dialect::{Dialect, DialectEntry, Encoded, ServerState, ToolState};
use crate::error::ErrorResponse;
use crate::json::to_json;
use crate::jsonrpc::{Message, Refusal};
use crate::request::{Operation, Request};

/// The name of the dialect, under which tools declare their spelling.
pub const NAME: &str = "solana";

/// The version of the protocol that the contract names, whichever the client asks for.
pub const PROTOCOL: &str = "2024-11-05";

/// The server that the contract shows: its clients may look for this name and version.
pub const SERVER: (&str, &str) = ("solana-mcp-server", "1.0.2");

/// What every response over HTTP says.
const HEADERS: [(&str, &str); 2] = [("x-mcp-version", PROTOCOL), ("cache-control", "no-cache")];

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "The Solana chain: accounts, tokens, transactions and blocks, by the names of the RPC methods",
    only_family: Some(NAME),
    build: |_| Ok(Arc::new(Solana)),
};

/// What `GET /health` says about this dialect.
pub fn health() -> Map<String, Value> {
    let (service, version) = SERVER;
    let capabilities = json!({"tools": true, "resources": true, "prompts": false, "sampling": false});
    let members = [("service", json!(service)), ("version", json!(version)), ("protocol", json!(PROTOCOL))];
    let members = members.into_iter().chain([("capabilities", capabilities)]);
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The dialect; the state of its connection is the transport's.
pub struct Solana;

impl Dialect for Solana {
    fn policy(&self) -> DialectPolicy {
        DialectPolicy { name: NAME, ..DialectPolicy::default() }
    }

    fn request(&self, message: Message) -> Option<Request> {
        decode::request(message)
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    fn error(&self, error: &Error, _operation: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_error(error)
    }

    /// What a node or a transaction reports is a result, too: the code -32002 would mean two things otherwise.
    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        let content: Vec<Value> = reply.content.into_iter().map(blocks::block).collect();
        let result =
            if reply.failed { json!({"content": content, "isError": true}) } else { json!({ "content": content }) };
        to_json(&result).map_err(|error| errors::of_error(&Error::internal(error)))
    }

    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        let name = tool.spelling(NAME)?;
        Some(json!({"name": name, "description": tool.description, "inputSchema": *tool.input_schema}))
    }

    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        json!({ "tools": entries })
    }

    fn hides_disabled_tools(&self) -> bool {
        true
    }

    fn unknown_name(&self, kind: &str, name: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_unknown_name(kind, name)
    }

    /// Another version is not an error: the client learns which one is spoken, and decides.
    fn initialize(&self, _params: &Value, _server: ServerState<'_>) -> Value {
        let (name, version) = SERVER;
        json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": name, "version": version},
        })
    }

    fn known_resource(&self) -> Option<&'static str> {
        Some("solana://mainnet/account/11111111111111111111111111111111")
    }

    fn resource_list(&self, resources: &[ResourceInfo]) -> Value {
        content::standard_resources(resources)
    }

    fn template_list(&self, templates: &[ResourceTemplate]) -> Value {
        let entry = |template: &ResourceTemplate| {
            let ResourceTemplate { uri, name, mime, description, .. } = template;
            json!({"uriTemplate": uri, "name": name, "description": description, "mimeType": mime})
        };
        json!({ "resourceTemplates": templates.iter().map(entry).collect::<Vec<_>>() })
    }

    fn contents(&self, _uri: &str, contents: Vec<Contents>, _listed: Option<&ResourceInfo>) -> Result<Value> {
        Ok(content::standard_contents(contents))
    }

    /// On stdio nothing but `initialize` and `ping` is accepted before the handshake. HTTP has no connection to wait on.
    fn accept(&self, state: &mut ConnectionState, operation: &Operation) -> std::result::Result<(), ErrorResponse> {
        match operation {
            Operation::Initialize(_) => {
                let mut next = *state;
                next.transition(Event::Initialize).map_err(|refused| errors::of_state(refused.state))
            }
            // A notification is never answered, so a repeated one changes nothing.
            Operation::Initialized => {
                let _ = state.transition(Event::Initialized);
                Ok(())
            }
            Operation::Ping | Operation::Malformed(_) | Operation::Cancel { .. } | Operation::Exit => Ok(()),
            Operation::Shutdown
            | Operation::ListTools(_)
            | Operation::CallTool { .. }
            | Operation::CallMethod { .. }
            | Operation::ListResources
            | Operation::ListResourceTemplates
            | Operation::ReadResource { .. }
            | Operation::ListPrompts
            | Operation::GetPrompt { .. }
            | Operation::UnknownMethod { .. }
            | Operation::InvalidParams(_) => state.request().map_err(|refused| errors::of_state(refused.state)),
        }
    }

    fn runs_calls_without_id(&self) -> bool {
        false
    }

    fn http_error(&self, status: u16, reason: &str) -> Option<ErrorResponse> {
        Some(errors::of_status(status, reason))
    }

    fn http_headers(&self) -> &'static [(&'static str, &'static str)] {
        &HEADERS
    }

    fn requires_content_type(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
