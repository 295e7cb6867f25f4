//! Results in the contract's shapes, to the byte.

use mainstay_core::{Block, CacheFailure, Error, Kind, Reply};
use serde_json::{Value, json};

use super::errors;
use crate::dialect::Encoded;
use crate::json::to_json;

/// The version of the protocol that the contract names, whichever the client asks for.
const PROTOCOL: &str = "2024-11-05";

/// The name of the server, whatever the program is called.
const SERVER_NAME: &str = "mcp-context-server";

/// The result of `initialize`: the standard's members, and the tools.
pub(super) fn initialize(version: &str, tools: &[Value]) -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": SERVER_NAME, "version": version},
        "tools": tools,
    })
}

/// The text of a reply, unchanged. A tool that reports its own failure does so in words that are not the contract's.
pub(super) fn reply(reply: &Reply) -> Vec<u8> {
    if let Some(Block::Text { text, .. }) = reply.content.first()
        && !reply.failed
    {
        return tool_result(text, "");
    }
    failure(CacheFailure::Internal)
}

/// A failed call is a result that says so, but a call that was rejected before it reached its tool has no result.
pub(super) fn failed_call(error: &Error) -> Encoded {
    let rejected = matches!(error.kind, Kind::RateLimited | Kind::Unauthorized | Kind::ConsentRequired);
    if rejected { Err(errors::of_code(CacheFailure::Internal)) } else { Ok(failure(errors::of_error(error))) }
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

    fn text(message: &[u8]) -> &str {
        std::str::from_utf8(message).unwrap()
    }

    fn response(result: &Encoded) -> String {
        let id = Id::from(&json!("a\"1"));
        let bytes = match result {
            Ok(result) => jsonrpc::result(&id, result),
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
            assert_eq!(response(&Ok(reply(&Reply::text(said)))), frozen);
        }
        let both = Reply { structured: Some(json!({"caches": []})), ..Reply::text("told") };
        assert_eq!(reply(&both), reply(&Reply::text("told")), "the value stays behind");
    }

    #[test]
    fn a_mistake_is_a_result_with_the_frozen_object_and_a_newline_as_its_text() {
        for code in CacheFailure::ALL {
            let error = Error::unavailable("why").with_reason(Reason::Cache(code));
            let frozen = format!(
                r#"{{"jsonrpc":"2.0","id":"a\"1","result":{{"content":[{{"text":"{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"}}}}\n","type":"text"}}],"isError":true}}}}"#,
                code.as_str(),
                errors::message(code)
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
            let message = reply(&odd);
            assert!(text(&message).contains("internal_error") && !text(&message).contains("canary"));
        }
    }

    #[test]
    fn the_greeting_is_the_standards_with_the_tools_besides() {
        let shown = [json!({"name": "t"})];
        let frozen = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"protocolVersion":"2024-11-05","serverInfo":{"name":"mcp-context-server","version":"1.2.3"},"tools":[{"name":"t"}]}}"#;
        let greeting = jsonrpc::result(&Id::from(&json!(1)), initialize("1.2.3", &shown).to_string().as_bytes());
        assert_eq!(text(&greeting), frozen);
    }

    #[test]
    fn an_error_goes_out_under_the_id_or_under_none() {
        let refused = errors::not_initialized().response(&Id::null());
        let frozen = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Server not initialized"}}"#;
        assert_eq!(text(&refused), frozen);
    }
}
