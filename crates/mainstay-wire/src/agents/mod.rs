//! The dialect `agents` (contract 001): the standard's methods with results of its own, bare and in snake case, and ten
//! error codes, each with its HTTP status.

mod decode;
mod encode;
mod errors;
mod list;

use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::{
    Contents, DialectPolicy, Error, PromptInfo, PromptReply, Quota, Reply, ResourceInfo, Result, ToolInfo,
};
use serde_json::{Value, json};

use crate::content::bare;
use crate::dialect::{Dialect, DialectEntry, Encoded, ServerState, ToolState};
use crate::error::ErrorResponse;
use crate::jsonrpc::{Message, Refusal};
use crate::request::Request;
use decode::InitializeParams;

pub use encode::{VERSION, capabilities};
pub use list::NAME;

/// The longest part of a client's name or version that is kept, in characters.
const CLIENT_INFO: usize = 200;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "The methods of the standard with bare results, sessions and ten error codes",
    only_family: None,
    build: |_| Ok(Arc::new(Agents)),
};

/// Also applies to the contract's REST API and consent pages.
pub const POLICY: DialectPolicy = DialectPolicy {
    name: NAME,
    quota: Some(Quota { calls: 100, seconds: 60 }),
    first_result_wins: true,
    deadline: None,
    response_bytes: None,
};

/// The dialect; it has no state of its own.
pub struct Agents;

impl Dialect for Agents {
    fn policy(&self) -> DialectPolicy {
        POLICY
    }

    fn request(&self, message: Message) -> Option<Request> {
        Some(decode::request(message))
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    fn error(&self, error: &Error, operation: &str, now: Timestamp) -> ErrorResponse {
        errors::of_error(error, operation, now)
    }

    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        if reply.failed {
            return Err(errors::of_failed_reply(&reply));
        }
        Ok(bare(reply).to_string().into_bytes())
    }

    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        list::tool(tool)
    }

    /// A bare array, without pages.
    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        Value::Array(entries)
    }

    fn initialize(&self, params: &Value, server: ServerState<'_>) -> Value {
        encode::initialize(&capabilities(read(params).capabilities.as_deref()), &server)
    }

    fn session_state(&self, params: &Value, user: Option<&str>) -> Option<String> {
        let params = read(params);
        let text = |name: &str| params.client_info.get(name).and_then(Value::as_str).map(excerpt);
        let state = json!({
            "client": {"name": text("name"), "version": text("version")},
            "user": user,
            "capabilities": capabilities(params.capabilities.as_deref()),
        });
        Some(state.to_string())
    }

    /// One of the four resources of the contract; their provider lists exactly those.
    fn known_resource(&self) -> Option<&'static str> {
        Some("db://schema/complete")
    }

    fn resource_list(&self, resources: &[ResourceInfo]) -> Value {
        resources.iter().map(encode::resource).collect()
    }

    fn contents(&self, uri: &str, contents: Vec<Contents>, listed: Option<&ResourceInfo>) -> Result<Value> {
        let first = contents.into_iter().next().ok_or_else(|| Error::not_found(format!("{uri:?} is empty.")))?;
        Ok(encode::contents(uri, first, listed))
    }

    /// Prompts that are a text with placeholders; the contract shows the template.
    fn prompt_entry(&self, prompt: &PromptInfo) -> Option<Value> {
        encode::prompt(prompt)
    }

    fn prompt(&self, name: &str, reply: PromptReply, now: Timestamp) -> Result<Value> {
        Ok(encode::prompt_result(name, reply, now))
    }

    fn http_error(&self, status: u16, reason: &str) -> Option<ErrorResponse> {
        Some(errors::of_status(status, reason))
    }

    fn has_session_headers(&self) -> bool {
        true
    }
}

/// Params that were accepted by [`decode::request`].
fn read(params: &Value) -> InitializeParams {
    serde_json::from_value(params.clone()).unwrap_or_default()
}

fn excerpt(text: &str) -> String {
    text.chars().take(CLIENT_INFO).collect()
}
