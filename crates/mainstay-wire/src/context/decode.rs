//! From a message to a request, and from the arguments that were sent to those a tool gets.

use mainstay_core::ToolInfo;
use serde_json::{Map, Value};

use super::errors;
use super::list::has_argument;
use crate::error::ErrorResponse;
use crate::jsonrpc::Message;
use crate::request::{Operation, Request};

/// Without an id nothing is done here, whatever the method.
pub(super) fn request(Message { id, method, params }: Message) -> Option<Request> {
    id.is_some().then(|| Request { id, operation: operation(&method, params) })
}

fn operation(method: &str, params: Option<Value>) -> Operation {
    match method {
        "initialize" => Operation::Initialize(params.unwrap_or_default()),
        "ping" => Operation::Ping,
        "tools/list" => Operation::ListTools(Value::Null),
        "tools/call" => call(params).unwrap_or_else(Operation::InvalidParams),
        _ => Operation::UnknownMethod { method: errors::excerpt(method), response: errors::unknown_method(method) },
    }
}

fn call(params: Option<Value>) -> Result<Operation, ErrorResponse> {
    let mut params = params.ok_or_else(errors::missing_params)?;
    let (name, args) = match &mut params {
        Value::Object(params) => (params.remove("name"), params.remove("arguments")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => (None, None),
    };
    match name {
        Some(Value::String(name)) => Ok(Operation::CallTool { name, args }),
        Some(_) | None => Err(errors::invalid_params()),
    }
}

/// The contract's arguments of a tool: others are dropped in this dialect, while elsewhere unknown ones are an error.
pub(super) fn arguments(tool: &ToolInfo, args: Option<Value>) -> Result<Value, ErrorResponse> {
    let knows = |name: &str| has_argument(&tool.input_schema, name);
    match args {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(Value::Object(mut args)) => {
            args.retain(|name, _| knows(name));
            Ok(Value::Object(args))
        }
        // Then every argument is invalid at once.
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(errors::of_code(errors::of_arguments(knows)))
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::CacheFailure;
    use serde_json::json;

    use super::super::Context;
    use super::*;
    use crate::context::list::tests::{infos, resolve};
    use crate::{Dialect as _, Id};

    fn decode(bytes: &[u8]) -> Option<Request> {
        Context::new(std::time::Duration::from_secs(30)).decode(bytes)
    }

    fn read(method: &str, more: &str) -> Operation {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{more}}}"#);
        let request = decode(text.as_bytes()).unwrap();
        assert_eq!(request.id, Some(Id::from(&json!(1))));
        request.operation
    }

    #[test]
    fn each_method_is_read_whatever_else_is_sent_with_it() {
        for params in ["", r#","params":null"#, r#","params":{"protocolVersion":"1999-01-01"}"#, r#","params":[1]"#] {
            assert!(matches!(read("initialize", params), Operation::Initialize(_)), "{params}");
            assert_eq!(read("ping", params), Operation::Ping, "{params}");
            assert_eq!(read("tools/list", params), Operation::ListTools(Value::Null), "{params}");
        }
        let called = read("tools/call", r#","params":{"name":"a","arguments":{"x":1},"_meta":{}}"#);
        assert_eq!(called, Operation::CallTool { name: "a".into(), args: Some(json!({"x": 1})) });
        let bare = Operation::CallTool { name: "a".into(), args: None };
        assert_eq!(read("tools/call", r#","params":{"name":"a"}"#), bare);
    }

    #[test]
    fn what_is_wrong_with_a_sound_message_is_told_in_canonical_words() {
        for params in ["", r#","params":null"#] {
            assert_eq!(read("tools/call", params), Operation::InvalidParams(errors::missing_params()), "{params}");
        }
        for params in ["{}", r#"["a"]"#, r#"{"name":1}"#, r#"{"name":null,"arguments":{}}"#, r#"{"arguments":{}}"#] {
            let called = read("tools/call", &format!(r#","params":{params}"#));
            assert_eq!(called, Operation::InvalidParams(errors::invalid_params()), "{params}");
        }
        for method in
            ["resources/list", "prompts/list", "context.resolve", "Initialize", "", "notifications/initialized"]
        {
            let response = errors::unknown_method(method);
            assert_eq!(read(method, ""), Operation::UnknownMethod { method: method.into(), response });
        }
    }

    #[test]
    fn lines_that_are_no_message_are_refused_without_a_reason() {
        let (parse, invalid) = ("-32700,\"message\":\"Parse error\"", "-32600,\"message\":\"Invalid Request\"");
        for (text, error, id) in [
            (&b"hello"[..], parse, "null"),
            (br#"{"jsonrpc":"2.0","id":5,"method":"ping""#, parse, "null"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", parse, "null"),
            (b"[]", invalid, "null"),
            (br#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, invalid, "null"),
            (b"7", invalid, "null"),
            (br#"{"id":5,"method":"ping"}"#, invalid, "5"),
            (br#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, invalid, "5"),
            (br#"{"jsonrpc":2.0,"id":"x","method":"ping"}"#, invalid, "\"x\""),
            (br#"{"jsonrpc":"2.0 ","id":5,"method":"ping"}"#, invalid, "5"),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, invalid, "null"),
            (br#"{"jsonrpc":"2.0","id":5,"method":7}"#, invalid, "5"),
            (br#"{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}"#, invalid, "5"),
        ] {
            let Some(Request { id: Some(under), operation: Operation::Malformed(response) }) = decode(text) else {
                panic!("{}", text.escape_ascii())
            };
            assert_eq!(response.to_json(), format!("{{\"code\":{error}}}"), "{}", text.escape_ascii());
            assert_eq!(under.to_string(), id, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn nothing_is_done_without_an_id_nor_for_an_answer() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"context.resolve"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_tool_is_given_the_arguments_it_knows() {
        let given = json!({"cache": 1, "query": "q", "more": {"cache": 2}});
        assert_eq!(arguments(&resolve(), Some(given)), Ok(json!({"cache": 1, "query": "q"})));
        for none in [None, Some(Value::Null), Some(json!({}))] {
            assert_eq!(arguments(&resolve(), none), Ok(json!({})));
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_refused_by_the_first_the_tool_has() {
        let codes = [CacheFailure::InvalidQuery, CacheFailure::InvalidQuery, CacheFailure::CacheMissing];
        for (tool, code) in infos().iter().zip(codes) {
            for given in [json!([]), json!("x"), json!(1), json!(false)] {
                assert_eq!(arguments(tool, Some(given)), Err(errors::of_code(code)), "{}", tool.listed);
            }
        }
    }
}
