//! From what came of a request to the contract's messages.

use mainstay_core::{Block, CacheFailure, Error, Kind, Reply};
use serde_json::{Value, json};

use super::{Fault, code};
use crate::{Id, jsonrpc, to_json};

/// The version of the protocol that the contract names, whichever is asked for.
const PROTOCOL: &str = "2024-11-05";

/// What the server is called, whatever the program is.
const NAME: &str = "mcp-context-server";

pub fn result(id: &Id, result: &Value) -> Vec<u8> {
    jsonrpc::result(id, result).into_bytes()
}

pub fn failure(id: &Id, fault: &Fault) -> Vec<u8> {
    jsonrpc::failure(id, fault).into_bytes()
}

/// The result of `initialize`: what the standard has, and the tools.
pub fn greeting(version: &str, tools: &[Value]) -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": NAME, "version": version},
        "tools": tools,
    })
}

/// The result of `tools/list`.
pub fn tools(tools: &[Value]) -> Value {
    json!({ "tools": tools })
}

/// What a tool replied: its text, as it is. A tool that says itself that it failed says so in words of its own, which
/// are not the contract's.
pub fn reply(id: &Id, reply: &Reply) -> Vec<u8> {
    match reply.content.first() {
        Some(Block::Text { text, .. }) if !reply.failed => told(id, text, ""),
        Some(
            Block::Text { .. } | Block::Image { .. } | Block::Audio { .. } | Block::Resource { .. } | Block::Link(_),
        )
        | None => mistaken(id, CacheFailure::Internal),
    }
}

/// What came of a call that failed: a result that says so. A call that was not let through to its tool has no result.
pub fn failed(id: &Id, error: &Error) -> Vec<u8> {
    let refused = matches!(error.kind, Kind::RateLimited | Kind::Unauthorized | Kind::ConsentRequired);
    if refused { failure(id, &CacheFailure::Internal.into()) } else { mistaken(id, code::of_error(error)) }
}

fn mistaken(id: &Id, code: CacheFailure) -> Vec<u8> {
    told(id, &format!("{}\n", code::to_json(code)), r#","isError":true"#)
}

/// A tool's result. Its text may be long, and is written into the message only once.
fn told(id: &Id, text: &str, more: &str) -> Vec<u8> {
    let quoted = to_json(&text).unwrap_or_else(|_| Value::from(text).to_string().into_bytes());
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"text":"#);
    let tail = format!(r#","type":"text"}}]{more}}}}}"#);
    [head.as_bytes(), &quoted, tail.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::{Problem, Reason};

    fn text(message: &[u8]) -> &str {
        std::str::from_utf8(message).unwrap()
    }

    fn id() -> Id {
        Id::from(&json!("a\"1"))
    }

    #[test]
    fn a_reply_is_its_text_to_the_byte() {
        let every: String = (0..0x3000).filter_map(char::from_u32).chain(['\u{1f600}', '\u{10ffff}']).collect();
        for said in ["", "{\"documents\":[]}\n", "a/b\\\"\u{7f}\u{2028}", &every] {
            let frozen = format!(
                r#"{{"jsonrpc":"2.0","id":"a\"1","result":{{"content":[{{"text":{},"type":"text"}}]}}}}"#,
                Value::from(said)
            );
            assert_eq!(text(&reply(&id(), &Reply::text(said))), frozen);
        }
        let both = Reply { structured: Some(json!({"caches": []})), ..Reply::text("told") };
        assert_eq!(reply(&id(), &both), reply(&id(), &Reply::text("told")), "the value stays behind");
    }

    #[test]
    fn a_mistake_is_a_result_with_the_frozen_object_and_a_newline_as_its_text() {
        for code in CacheFailure::ALL {
            let error = Error::unavailable("why").with_reason(Reason::Cache(code));
            let frozen = format!(
                r#"{{"jsonrpc":"2.0","id":"a\"1","result":{{"content":[{{"text":"{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"}}}}\n","type":"text"}}],"isError":true}}}}"#,
                code.as_str(),
                code::message(code)
            );
            assert_eq!(text(&failed(&id(), &error)), frozen);
        }
    }

    #[test]
    fn what_was_refused_before_the_tool_was_reached_is_an_error_and_everything_else_a_result() {
        let internal = r#"{"jsonrpc":"2.0","id":"a\"1","error":{"code":-32603,"message":"Internal error","data":{"error":{"code":"internal_error","message":"Internal error"}}}}"#;
        for kind in Kind::ALL {
            let message = failed(&id(), &Error::new(kind, "why"));
            match kind {
                Kind::RateLimited | Kind::Unauthorized | Kind::ConsentRequired => assert_eq!(text(&message), internal),
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
                | Kind::Internal => assert!(text(&message).ends_with(r#""isError":true}}"#), "{kind:?}"),
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
                let message = failed(&id(), &error);
                assert!(!text(&message).contains("canary"), "{kind:?}: {}", text(&message));
            }
        }
        for odd in [Reply::failure(secret), Reply::default(), Reply::blocks(vec![Block::image(vec![], secret)])] {
            let message = reply(&id(), &odd);
            assert!(text(&message).contains("internal_error") && !text(&message).contains("canary"));
        }
    }

    #[test]
    fn the_greeting_is_the_standards_with_the_tools_besides() {
        let shown = [json!({"name": "t"})];
        let frozen = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"protocolVersion":"2024-11-05","serverInfo":{"name":"mcp-context-server","version":"1.2.3"},"tools":[{"name":"t"}]}}"#;
        assert_eq!(text(&result(&Id::from(&json!(1)), &greeting("1.2.3", &shown))), frozen);
        assert_eq!(tools(&shown).to_string(), r#"{"tools":[{"name":"t"}]}"#);
    }

    #[test]
    fn an_error_goes_out_under_the_id_or_under_none() {
        let refused = failure(&Id::null(), &Fault::not_initialized());
        let frozen = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Server not initialized"}}"#;
        assert_eq!(text(&refused), frozen);
    }
}
