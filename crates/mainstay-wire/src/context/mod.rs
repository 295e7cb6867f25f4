//! The dialect `context` (contract 002): five methods of the standard, three tools, and six error codes. No path, no reason
//! of the system and no text of an error crosses it: every message is one of the contract's own.

mod decode;
mod encode;
mod errors;
mod list;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mainstay_core::{CacheFailure, DialectPolicy, Error, Reply, ToolInfo};
use serde_json::{Value, json};

use crate::dialect::{Dialect, DialectEntry, Encoded, NameKind, Order, ServerState, ToolState, Transport};
use crate::error::ErrorResponse;
use crate::jsonrpc::{Message, Refusal};
use crate::request::Request;

pub use list::NAME;

/// The longest message in bytes, without the newline that ends it.
const MESSAGE_BYTES: usize = 1024 * 1024;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "Documents from context caches within a token budget, and no other tools; needs --cache-root",
    only_family: Some("context"),
    build: |settings| Ok(Arc::new(Context::new(settings.tool_timeout))),
};

/// The dialect, with the configured time limit of a call.
pub struct Context {
    tool_timeout: Duration,
}

impl Context {
    pub fn new(tool_timeout: Duration) -> Self {
        Self { tool_timeout }
    }
}

impl Dialect for Context {
    fn policy(&self) -> DialectPolicy {
        DialectPolicy { name: NAME, deadline: Some(self.tool_timeout), ..DialectPolicy::default() }
    }

    fn request(&self, message: Message) -> Option<Request> {
        decode::request(message)
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    /// A line that is too long is a parse error in this contract.
    fn malformed(&self, refusal: &Refusal) -> Request {
        Request::malformed(refusal, errors::parse_error())
    }

    fn error(&self, _error: &Error, _operation: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_code(CacheFailure::Internal)
    }

    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        Ok(encode::reply(&reply))
    }

    fn failed_call(&self, error: &Error, _tool: &str, _now: Timestamp) -> Encoded {
        encode::failed_call(error)
    }

    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        list::tool(tool)
    }

    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        json!({ "tools": in_contract_order(entries) })
    }

    fn arguments(&self, tool: &ToolInfo, args: Option<Value>) -> Result<Value, ErrorResponse> {
        decode::arguments(tool, args)
    }

    fn hides_disabled_tools(&self) -> bool {
        true
    }

    fn unknown_name(&self, _kind: NameKind, name: &str, _now: Timestamp) -> ErrorResponse {
        errors::unknown_tool(name)
    }

    fn initialize(&self, _params: &Value, server: ServerState<'_>) -> Value {
        encode::initialize(server.version, &in_contract_order(server.tools))
    }

    fn not_initialized(&self, _transport: &Transport) -> Option<ErrorResponse> {
        Some(errors::not_initialized())
    }

    fn order(&self) -> Order {
        Order::Sequential
    }

    fn message_bytes(&self) -> Option<usize> {
        Some(MESSAGE_BYTES)
    }
}

/// The registry lists by name; the contract has an order of its own.
fn in_contract_order(mut entries: Vec<Value>) -> Vec<Value> {
    entries.sort_by_key(|entry| list::TOOLS.iter().position(|name| entry["name"] == *name));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Id, Operation};

    #[test]
    fn a_line_that_is_too_long_is_a_parse_error() {
        let too_long = Request { id: Some(Id::null()), operation: Operation::Malformed(errors::parse_error()) };
        assert_eq!(Context::new(Duration::from_secs(30)).malformed(&Refusal::too_long(5)), too_long);
    }
}
