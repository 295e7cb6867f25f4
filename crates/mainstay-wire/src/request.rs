//! What a message asks for, in the same terms for every dialect.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ErrorResponse;
use crate::id::Id;
use crate::jsonrpc::Refusal;

/// One decoded message.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The id of the response. A request without one is carried out and not answered.
    pub id: Option<Id>,
    pub operation: Operation,
}

impl Request {
    /// The request that stands for bytes that are not a message: it is answered with the error.
    pub fn malformed(refusal: &Refusal, error: ErrorResponse) -> Self {
        Self { id: Some(refusal.id.clone()), operation: Operation::Malformed(error) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// With the params, which every dialect reads in its own way.
    Initialize(Value),
    /// The client has read the reply to `initialize`. A notification.
    Initialized,
    /// Answered with an empty object. Counted and recorded only in a dialect with a quota.
    Ping,
    /// The client sends no more requests and waits for those that run.
    Shutdown,
    /// The client does not want the answer to this request of its own any more. A notification.
    Cancel {
        id: Value,
    },
    /// The connection ends now. A notification.
    Exit,
    /// With the params.
    ListTools(Value),
    /// `args` as they were sent: their shape is checked by the dialect and the tool.
    CallTool {
        name: String,
        args: Option<Value>,
    },
    /// A tool called by a method of its name, in a dialect that has `tools/call` as well: its result has another shape.
    CallMethod {
        name: String,
        args: Option<Value>,
    },
    ListResources,
    ListResourceTemplates,
    ReadResource {
        uri: String,
    },
    ListPrompts,
    GetPrompt {
        name: String,
        args: BTreeMap<String, String>,
    },
    /// The dialect has no such method. `method` is safe to print: an excerpt without control characters.
    UnknownMethod {
        method: String,
        response: ErrorResponse,
    },
    /// The params of a known method cannot be read.
    InvalidParams(ErrorResponse),
    /// Not a JSON-RPC message at all.
    Malformed(ErrorResponse),
}
