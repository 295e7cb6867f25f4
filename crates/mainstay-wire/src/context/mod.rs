//! The dialect `context` (contract 002): five methods of the standard, three tools, and six error codes. No path, no reason
//! of the system and no text of an error crosses it: every message is one of the contract's own.

mod decode;
mod errors;
mod list;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mainstay_core::{Block, CacheFailure, DialectPolicy, Error, Kind, Reply, ToolInfo};
use serde_json::{Value, json};

use crate::connection_state::ConnectionState;
use crate::dialect::{Dialect, DialectEntry, Encoded, Limits, ServerState, ToolState};
use crate::error::ErrorResponse;
use crate::json::to_json;
use crate::jsonrpc::{Message, Refusal};
use crate::request::{Operation, Request};

pub use list::NAME;

/// The version of the protocol that the contract names, whichever the client asks for.
const PROTOCOL: &str = "2024-11-05";

/// The name of the server, whatever the program is called.
const SERVER_NAME: &str = "mcp-context-server";

/// How long one call may take where no setting says otherwise.
pub const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest message in bytes, without the newline that ends it.
const MESSAGE_BYTES: usize = 1024 * 1024;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "Documents from context caches within a token budget, and no other tools; needs --cache-root",
    only_family: Some("context"),
    build: |tool_timeout| Ok(Arc::new(Context::new(tool_timeout))),
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
    fn too_long(&self, _refusal: &Refusal) -> ErrorResponse {
        errors::parse_error()
    }

    fn error(&self, _error: &Error, _operation: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_code(CacheFailure::Internal)
    }

    /// The text of a reply, unchanged. A tool that reports its own failure does so in words that are not the contract's.
    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        if let Some(text) = reply.content.first().and_then(Block::as_text)
            && !reply.failed
        {
            return Ok(tool_result(text, ""));
        }
        Ok(failure(CacheFailure::Internal))
    }

    /// A failed call is a result that says so, but a call that was rejected before it reached its tool has no result.
    fn failed_call(&self, error: &Error, _tool: &str, _now: Timestamp) -> Encoded {
        let rejected = matches!(error.kind, Kind::RateLimited | Kind::Unauthorized | Kind::ConsentRequired);
        if rejected { Err(errors::of_code(CacheFailure::Internal)) } else { Ok(failure(errors::of_error(error))) }
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

    fn unknown_name(&self, _kind: &str, name: &str, _now: Timestamp) -> ErrorResponse {
        errors::unknown_tool(name)
    }

    /// The standard's members, and the tools.
    fn initialize(&self, _params: &Value, server: ServerState<'_>) -> Value {
        json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": SERVER_NAME, "version": server.version},
            "tools": in_contract_order(server.tools),
        })
    }

    /// Everything after the first successful `initialize`, which may be repeated.
    fn accept(&self, state: &mut ConnectionState, operation: &Operation) -> Result<(), ErrorResponse> {
        // A message that cannot be read gets its own error: that it came too early is not what is wrong with it.
        let passes = matches!(operation, Operation::Initialize(_) | Operation::Malformed(_));
        if passes || *state != ConnectionState::Uninitialized { Ok(()) } else { Err(errors::not_initialized()) }
    }

    fn runs_calls_without_id(&self) -> bool {
        false
    }

    fn is_sequential(&self) -> bool {
        true
    }

    fn limits(&self) -> Limits {
        Limits { message_bytes: Some(MESSAGE_BYTES), ..Limits::default() }
    }
}

/// The registry lists by name; the contract has an order of its own.
fn in_contract_order(mut entries: Vec<Value>) -> Vec<Value> {
    entries.sort_by_key(|entry| list::TOOLS.iter().position(|name| entry["name"] == *name));
    entries
}

/// A failed call as a result: the frozen object and a newline as its text.
fn failure(failure: CacheFailure) -> Vec<u8> {
    tool_result(&format!("{}\n", errors::to_json(failure)), r#","isError":true"#)
}

/// The result of a tool. Its text may be long and is copied into the result only once.
fn tool_result(text: &str, more: &str) -> Vec<u8> {
    let quoted = to_json(&text).unwrap_or_else(|_| Value::from(text).to_string().into_bytes());
    let tail = format!(r#","type":"text"}}]{more}}}"#);
    [br#"{"content":[{"text":"#, quoted.as_slice(), tail.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Id, jsonrpc};
    use mainstay_core::{Problem, Reason};

    fn dialect() -> Context {
        Context::new(Duration::from_secs(30))
    }

    fn reply(reply: Reply) -> Vec<u8> {
        dialect().reply("", reply).unwrap()
    }

    fn failed_call(error: &Error) -> Encoded {
        dialect().failed_call(error, "", Timestamp::UNIX_EPOCH)
    }

    fn text(message: &[u8]) -> &str {
        std::str::from_utf8(message).unwrap()
    }

    fn response(result: &Encoded) -> String {
        let id = Id::from(&json!("a\"1"));
        let bytes = match result {
            Ok(result) => jsonrpc::result(&id, result.clone()),
            Err(error) => error.response(&id),
        };
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_reply_is_its_text_to_the_byte() {
        let every: String = (0..0x3000).filter_map(char::from_u32).chain(['\u{1f600}', '\u{10ffff}']).collect();
        for said in ["", "{\"documents\":[]}\n", "a/b\\\"\u{7f}\u{2028}", &every] {
            let frozen = format!(
                r#"{{"jsonrpc":"2.0","id":"a\"1","result":{{"content":[{{"text":{},"type":"text"}}]}}}}"#,
                Value::from(said)
            );
            assert_eq!(response(&Ok(reply(Reply::text(said)))), frozen);
        }
        let both = Reply { structured: Some(json!({"caches": []})), ..Reply::text("told") };
        assert_eq!(reply(both), reply(Reply::text("told")), "the value stays behind");
    }

    #[test]
    fn a_mistake_is_a_result_with_the_frozen_object_and_a_newline_as_its_text() {
        for code in CacheFailure::ALL {
            let error = Error::unavailable("why").with_reason(Reason::Cache(code));
            let frozen = format!(
                r#"{{"jsonrpc":"2.0","id":"a\"1","result":{{"content":[{{"text":"{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"}}}}\n","type":"text"}}],"isError":true}}}}"#,
                code.as_str(),
                errors::numbered(code).1
            );
            assert_eq!(response(&failed_call(&error)), frozen);
        }
    }

    #[test]
    fn what_was_refused_before_the_tool_was_reached_is_an_error_and_everything_else_a_result() {
        let internal = r#"{"jsonrpc":"2.0","id":"a\"1","error":{"code":-32603,"message":"Internal error","data":{"error":{"code":"internal_error","message":"Internal error"}}}}"#;
        for kind in Kind::ALL {
            let message = response(&failed_call(&Error::new(kind, "why")));
            match kind {
                Kind::RateLimited | Kind::Unauthorized | Kind::ConsentRequired => assert_eq!(message, internal),
                Kind::Invalid
                | Kind::Unknown
                | Kind::NotFound
                | Kind::Denied
                | Kind::Conflict
                | Kind::TooLarge
                | Kind::Unavailable
                | Kind::Cancelled
                | Kind::TimedOut
                | Kind::Unsupported
                | Kind::InputRequired
                | Kind::Internal => assert!(message.ends_with(r#""isError":true}}"#), "{kind:?}"),
            }
        }
    }

    #[test]
    fn nothing_that_an_error_or_a_failed_reply_says_crosses() {
        let secret = "/srv/caches/canary";
        for kind in Kind::ALL {
            let problem = Problem {
                path: secret.into(),
                rule: secret.into(),
                property: Some(secret.into()),
                reason: secret.into(),
            };
            for reason in [Reason::path(secret), Reason::Problems(vec![problem]), Reason::uri(secret)] {
                let error = Error::new(kind, secret).with_detail(secret).with_reason(reason);
                let message = response(&failed_call(&error));
                assert!(!message.contains("canary"), "{kind:?}: {message}");
            }
        }
        for odd in [Reply::failure(secret), Reply::default(), Reply::blocks(vec![Block::image(vec![], secret)])] {
            let message = reply(odd);
            assert!(text(&message).contains("internal_error") && !text(&message).contains("canary"));
        }
    }

    #[test]
    fn the_greeting_is_the_standards_with_the_tools_besides() {
        let server = ServerState {
            version: "1.2.3",
            session: None,
            tools: vec![json!({"name": "t"})],
            resources: 0,
            prompts: 0,
        };
        let result = dialect().initialize(&Value::Null, server).to_string();
        let frozen = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"protocolVersion":"2024-11-05","serverInfo":{"name":"mcp-context-server","version":"1.2.3"},"tools":[{"name":"t"}]}}"#;
        let greeting = jsonrpc::result(&Id::from(&json!(1)), result.into_bytes());
        assert_eq!(text(&greeting), frozen);
    }

    #[test]
    fn an_error_goes_out_under_the_id_or_under_none() {
        let refused = errors::not_initialized().response(&Id::null());
        let frozen = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Server not initialized"}}"#;
        assert_eq!(text(&refused), frozen);
    }

    #[test]
    fn a_line_that_is_too_long_is_a_parse_error() {
        assert_eq!(dialect().too_long(&Refusal::too_long(5)), errors::parse_error());
    }
}
