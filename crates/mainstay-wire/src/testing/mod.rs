//! The smallest dialect, for tests: `tools/list` and `tools/call` over plain JSON-RPC, and nothing else. It shows what a
//! dialect has to decide itself; the end-to-end tests serve it on stdio and HTTP.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::{DialectPolicy, Error, Reply, ToolInfo};
use serde_json::{Value, json};

use crate::content::bare;
use crate::dialect::{Dialect, DialectEntry, Encoded, ToolState, method_not_found};
use crate::error::ErrorResponse;
use crate::jsonrpc::{self, INVALID_PARAMS, Message, Refusal};
use crate::request::{Operation, Request};

pub const NAME: &str = "minimal";

/// The largest result, in bytes.
pub const RESPONSE_BYTES: usize = 64 * 1024;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "The smallest dialect, for tests",
    only_family: None,
    build: |_| Ok(Arc::new(Minimal)),
};

pub struct Minimal;

impl Dialect for Minimal {
    fn policy(&self) -> DialectPolicy {
        DialectPolicy { name: NAME, response_bytes: Some(RESPONSE_BYTES), ..DialectPolicy::default() }
    }

    fn request(&self, Message { id, method, params }: Message) -> Option<Request> {
        let mut params = jsonrpc::or_empty(params);
        let operation = match (method.as_str(), params["name"].as_str()) {
            ("tools/list", _) => Operation::ListTools(params),
            ("tools/call", Some(name)) => {
                Operation::CallTool { name: name.to_owned(), args: Some(params["arguments"].take()) }
            }
            ("tools/call", None) => {
                Operation::InvalidParams(ErrorResponse::new(INVALID_PARAMS, "The name of the tool is missing.", None))
            }
            _ => Operation::UnknownMethod { response: method_not_found(&method), method },
        };
        Some(Request { id, operation })
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        ErrorResponse::new(refusal.code, refusal.message.clone(), None)
    }

    /// One code for every error; the kind tells them apart.
    fn error(&self, error: &Error, _operation: &str, _now: Timestamp) -> ErrorResponse {
        ErrorResponse::new(-32000, error.public.clone(), Some(json!({ "kind": error.kind.as_str() })))
    }

    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        Ok(bare(reply).to_string().into_bytes())
    }

    fn tool_name<'a>(&self, tool: &'a ToolInfo) -> Option<Cow<'a, str>> {
        Some(Cow::Borrowed(&tool.listed))
    }

    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        Some(tool.listed.as_str().into())
    }

    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        Value::Array(entries)
    }
}
