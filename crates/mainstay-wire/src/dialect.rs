//! What a dialect is: one wire format of the server, with its names, shapes, error codes and declared policies.
//!
//! A dialect does no I/O and never sees the engine. The dispatcher in mainstay-server decodes a message with it, does
//! what the message asks for, and encodes the result with it, over stdio and HTTP alike.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mainstay_core::schema::Validator;
use mainstay_core::{
    Contents, DialectPolicy, Error, Kind, PromptInfo, PromptReply, Quota, Reply, ResourceInfo, ResourceTemplate,
    Result, ToolInfo, quoted, recorded,
};
use serde_json::{Value, json};

use crate::connection_state::ConnectionState;
use crate::error::ErrorResponse;
use crate::jsonrpc::{self, METHOD_NOT_FOUND, Message, Refusal};
use crate::request::{Operation, Request};

/// The JSON text of a response's `result` member, or the error in its place.
pub type Encoded = std::result::Result<Vec<u8>, ErrorResponse>;

/// Where requests arrive and tools are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Whoever started this process has its rights anyway, so there is no token to ask for.
    Stdio,
    Http {
        /// Where clients reach the endpoint, if that is known.
        url: Option<String>,
        auth_required: bool,
    },
}

/// Which tools a list is asked for. The default is the whole list of enabled tools.
#[derive(Debug, Clone)]
pub struct ToolQuery {
    /// `None` lists enabled and disabled tools.
    pub enabled: Option<bool>,
    pub names: Vec<String>,
    /// A tool with any of these tags matches.
    pub tags: Vec<String>,
    pub cursor: Option<String>,
    pub limit: usize,
}

impl Default for ToolQuery {
    fn default() -> Self {
        Self { enabled: Some(true), names: Vec::new(), tags: Vec::new(), cursor: None, limit: usize::MAX }
    }
}

impl ToolQuery {
    /// Whether a tool of this name matches every part of the query. A part that is empty excludes nothing.
    pub fn matches(&self, name: &str, tool: &ToolInfo, enabled: bool) -> bool {
        (self.names.is_empty() || self.names.iter().any(|wanted| wanted == name))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| tool.tags.contains(&tag.as_str())))
            && self.enabled.is_none_or(|wanted| wanted == enabled)
    }
}

/// What a contract demands of the connection that its messages arrive on. `None` where it says nothing: then the
/// configured limit applies, or the one that is usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest message in bytes, without the newline that ends it.
    pub message_bytes: Option<usize>,
    /// The requests of one connection that run at once; the next one is not read before one of them is answered.
    pub in_flight: Option<usize>,
    /// The bytes written at once; a longer response is written in parts of this length.
    pub write_bytes: Option<usize>,
}

/// What an entry of a tool list may say besides the tool's declaration.
#[derive(Debug, Clone, Copy)]
pub struct ToolState<'a> {
    pub enabled: bool,
    pub quota: Option<Quota>,
    pub endpoint: &'a Endpoint,
}

/// What the response to `initialize` may say.
#[derive(Debug)]
pub struct ServerState<'a> {
    pub version: &'a str,
    /// The session that was opened, in a dialect that has sessions.
    pub session: Option<&'a str>,
    pub tools: Vec<Value>,
    pub resources: usize,
    pub prompts: usize,
}

/// One wire format. The required methods are what every dialect has to decide; the others have the answer that is usual.
pub trait Dialect: Send + Sync + 'static {
    /// The policies that differ, and the name under which tools declare their spelling.
    fn policy(&self) -> DialectPolicy;

    /// The request that a message makes. `None` if there is nothing to do and nothing to answer.
    fn request(&self, message: Message) -> Option<Request>;

    /// The error for bytes that are not a message.
    fn refused(&self, refusal: &Refusal) -> ErrorResponse;

    /// The error for a request that failed. `operation` is the method, or the name of the tool that was called.
    fn error(&self, error: &Error, operation: &str, now: Timestamp) -> ErrorResponse;

    /// The result of a tool.
    fn reply(&self, tool: &str, reply: Reply) -> Encoded;

    /// The result of a tool that was called by a method of its name.
    fn method_reply(&self, tool: &str, reply: Reply) -> Encoded {
        self.reply(tool, reply)
    }

    /// One entry of the tool list; `None` for a tool the dialect does not expose.
    fn tool_entry(&self, tool: &ToolInfo, state: ToolState<'_>) -> Option<Value>;

    /// The result of listing tools.
    fn tool_list(&self, entries: Vec<Value>, next: Option<String>) -> Value;

    /// Decodes a message. `None` if there is nothing to do and nothing to answer.
    fn decode(&self, message: &[u8]) -> Option<Request> {
        match jsonrpc::read(message) {
            Ok(message) => self.request(message?),
            Err(refusal) => Some(Request::malformed(&refusal, self.refused(&refusal))),
        }
    }

    /// The error for a message that the transport did not read to its end.
    fn too_long(&self, refusal: &Refusal) -> ErrorResponse {
        self.refused(refusal)
    }

    /// The name of a tool in this dialect; `None` if it is not exposed. A tool has one name here and is not found under
    /// any other: what a dialect restricts must not be reachable by another spelling.
    fn tool_name<'a>(&self, tool: &'a ToolInfo) -> Option<Cow<'a, str>> {
        tool.spelling(self.policy().name).map(Cow::Borrowed)
    }

    /// Whether a disabled tool is unknown. Otherwise a call of it fails with [`Kind::Unavailable`].
    fn hides_disabled_tools(&self) -> bool {
        false
    }

    /// The params of a tool list.
    fn tool_query(&self, _params: Value) -> Result<ToolQuery> {
        Ok(ToolQuery::default())
    }

    /// The arguments a tool gets, of those that were sent.
    fn arguments(&self, _tool: &ToolInfo, args: Option<Value>) -> std::result::Result<Value, ErrorResponse> {
        Ok(args.unwrap_or(Value::Null))
    }

    /// A schema the arguments have to satisfy besides the tool's own.
    fn narrowed(&self, _tool: &str) -> Option<Arc<Validator>> {
        None
    }

    /// The outcome of a call that failed. Some dialects report it as a result.
    fn failed_call(&self, error: &Error, tool: &str, now: Timestamp) -> Encoded {
        Err(self.error(error, tool, now))
    }

    /// The error for a name that no exposed tool or prompt has. `kind` is the word for what was looked up: `tool`,
    /// `method` or `prompt`.
    fn unknown_name(&self, kind: &str, name: &str, now: Timestamp) -> ErrorResponse {
        let shown = quoted(name);
        let error = Error::unknown(format!("There is no {kind} {shown}; {kind}s/list names those there are."));
        self.error(&error, name, now)
    }

    /// The result of `initialize`.
    fn initialize(&self, _params: &Value, server: ServerState<'_>) -> Value {
        json!({"serverInfo": {"name": "mainstay", "version": server.version}})
    }

    /// The state of the session that `initialize` opens; `None` in a dialect without sessions. `user` is whom the client
    /// claims to act for.
    fn session_state(&self, _params: &Value, _user: Option<&str>) -> Option<String> {
        None
    }

    /// The name and version that the client gave itself, from the state of its session.
    fn client(&self, _session_state: &str) -> Option<(String, String)> {
        None
    }

    /// A resource of the dialect. It lists the resources of that one's provider; `None` if it has no resources.
    fn known_resource(&self) -> Option<&'static str> {
        None
    }

    fn resource_list(&self, _resources: &[ResourceInfo]) -> Value {
        Value::Null
    }

    /// The result of listing templates of resources.
    fn template_list(&self, _templates: &[ResourceTemplate]) -> Value {
        Value::Null
    }

    /// The content of a resource. `listed` is its entry in the list, if it is there.
    fn contents(&self, _uri: &str, _contents: Vec<Contents>, _listed: Option<&ResourceInfo>) -> Result<Value> {
        Err(unsupported())
    }

    /// One entry of the prompt list; `None` for a prompt the dialect does not expose.
    fn prompt_entry(&self, _prompt: &PromptInfo) -> Option<Value> {
        None
    }

    /// The result of listing prompts.
    fn prompt_list(&self, entries: Vec<Value>) -> Value {
        entries.into()
    }

    fn prompt(&self, _name: &str, _reply: PromptReply, _now: Timestamp) -> Result<Value> {
        Err(unsupported())
    }

    /// Whether the client wants the output of this call while it runs.
    fn wants_chunks(&self, _request: &Request) -> bool {
        false
    }

    /// A part of the output of a running call; numbered over all its streams, so that their order can be restored.
    fn chunk(&self, _id: &crate::id::Id, _stream: &str, _seq: u64, _text: &str) -> Option<Vec<u8>> {
        None
    }

    /// Whether a request is accepted in this state of its connection; changes the state where the request does so by
    /// arriving. Requests are passed in the order they arrive in. What `initialize` changes is changed after it succeeded:
    /// one that a policy rejected does not count.
    fn accept(&self, _state: &mut ConnectionState, _operation: &Operation) -> std::result::Result<(), ErrorResponse> {
        Ok(())
    }

    /// Whether each request of a connection is answered before the next one is decoded, so that the same lines always
    /// give the same bytes. Otherwise they run at once, as many as the engine admits, each answered when it is done.
    fn is_sequential(&self) -> bool {
        false
    }

    /// Whether a call without an id is made, though nobody learns how it ended.
    fn runs_calls_without_id(&self) -> bool {
        true
    }

    /// What the contract demands of the connection.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Whether a message that is too long is answered under its id. Otherwise the id is null: it was not looked for.
    fn answers_long_messages_by_id(&self) -> bool {
        false
    }

    /// The JSON-RPC error for a request that HTTP rejects with this status; `None` for a plain text response.
    fn http_error(&self, _status: u16, _reason: &str) -> Option<ErrorResponse> {
        None
    }

    /// Headers that every HTTP response has, those of rejected requests included.
    fn http_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether an HTTP request has to say that it is JSON. Otherwise it may say nothing.
    fn requires_content_type(&self) -> bool {
        false
    }

    /// Whether HTTP requests name a session, a user and a request id in headers.
    fn has_session_headers(&self) -> bool {
        false
    }
}

/// A dialect decodes no request that it cannot answer, so this is a fault of its implementation.
fn unsupported() -> Error {
    Error::new(Kind::Unsupported, "This dialect has no such method.")
}

/// The response to a method that does not exist.
pub(crate) fn method_not_found(method: &str) -> ErrorResponse {
    ErrorResponse::new(METHOD_NOT_FOUND, format!("Method not found: {}", recorded(method)), None)
}

/// What the program knows of a dialect before it is used: the one line in the list of dialects.
#[derive(Clone, Copy)]
pub struct DialectEntry {
    pub name: &'static str,
    /// What the help of `mainstay stdio` says about it.
    pub about: &'static str,
    /// The dialect exposes this family alone; the others are not started for it.
    pub only_family: Option<&'static str>,
    /// Makes the dialect. It is told how long one call of a tool may take, which only `context` limits.
    pub build: fn(Duration) -> Result<Arc<dyn Dialect>>,
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Context, Effect, Spec, Tool, erase};

    use super::*;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Args {}

    struct Read;

    impl Tool for Read {
        const SPEC: Spec = Spec { tags: &["fs", "text"], ..Spec::new("files", "read", Effect::Reads) };
        type Args = Args;
        type Output = Reply;

        async fn call(&self, _args: Args, _context: &Context) -> Result<Reply> {
            Ok(Reply::default())
        }
    }

    #[test]
    fn a_query_matches_what_satisfies_every_part_of_it() {
        let tool = erase(Read);
        let query = |names: &[&str], tags: &[&str], enabled| ToolQuery {
            names: names.iter().map(ToString::to_string).collect(),
            tags: tags.iter().map(ToString::to_string).collect(),
            enabled,
            ..ToolQuery::default()
        };
        for matching in [
            query(&[], &[], None),
            query(&["x/y", "files/read"], &[], None),
            query(&[], &["net", "fs"], Some(true)),
            ToolQuery::default(),
        ] {
            assert!(matching.matches("files/read", tool.info(), true), "{matching:?}");
        }
        for other in
            [query(&["files_read"], &[], None), query(&[], &["f"], None), query(&["files/read"], &[], Some(false))]
        {
            assert!(!other.matches("files/read", tool.info(), true), "{other:?}");
        }
    }
}
