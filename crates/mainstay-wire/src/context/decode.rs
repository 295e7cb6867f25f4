//! From bytes to what is to be done.

use mainstay_core::ToolInfo;
use serde_json::{Map, Value};

use super::{Fault, code};
use crate::Id;
use crate::jsonrpc::{self, Message};

/// One thing to do, and the id its answer goes out under.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub id: Id,
    /// What is wrong with it is not told before the greeting, when nothing is answered but that.
    pub ask: Result<Ask, Fault>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Initialize,
    Ping,
    ListTools,
    CallTool(Order),
}

/// Which tool is called, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub name: String,
    pub arguments: Option<Value>,
}

/// A line that is no message, and the id its error goes out under.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub id: Id,
    pub fault: Fault,
}

/// Reads one message. Without an id nothing is done here, whatever is asked; neither is there anything to do for an
/// answer to something that was never asked.
pub fn decode(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let message =
        jsonrpc::read(bytes).map_err(|refusal| Refused { id: refusal.id.clone(), fault: Fault::frame(&refusal) })?;
    let Some(Message { id: Some(id), method, params }) = message else { return Ok(None) };
    Ok(Some(Request { id, ask: ask(&method, params) }))
}

/// The refusal of a line longer than [`super::MESSAGE_BYTES`].
pub fn too_long() -> Refused {
    Refused { id: Id::null(), fault: Fault::unreadable() }
}

fn ask(method: &str, params: Option<Value>) -> Result<Ask, Fault> {
    match method {
        "initialize" => Ok(Ask::Initialize),
        "ping" => Ok(Ask::Ping),
        "tools/list" => Ok(Ask::ListTools),
        "tools/call" => order(params.ok_or_else(Fault::no_params)?).map(Ask::CallTool),
        _ => Err(Fault::no_method(method)),
    }
}

fn order(mut params: Value) -> Result<Order, Fault> {
    let (name, arguments) = match &mut params {
        Value::Object(params) => (params.remove("name"), params.remove("arguments")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => (None, None),
    };
    match name {
        Some(Value::String(name)) => Ok(Order { name, arguments }),
        Some(_) | None => Err(Fault::other_params()),
    }
}

/// What the tool knows of the arguments: here the others are let go, while elsewhere they are refused.
pub fn arguments(tool: &ToolInfo, given: Option<Value>) -> Result<Value, Fault> {
    let known = tool.input_schema.get("properties").and_then(Value::as_object);
    let knows = |name: &str| known.is_some_and(|known| known.contains_key(name));
    match given {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(Value::Object(mut given)) => {
            given.retain(|name, _| knows(name));
            Ok(Value::Object(given))
        }
        // Then all of them are wrong at once.
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(code::of_arguments(knows).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::CacheFailure;
    use serde_json::json;

    use super::*;
    use crate::context::listed::tests::{infos, resolve};

    fn read(method: &str, more: &str) -> Result<Ask, Fault> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{more}}}"#);
        let request = decode(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.id, Id::from(&json!(1)));
        request.ask
    }

    #[test]
    fn each_method_is_read_whatever_else_is_sent_with_it() {
        for params in ["", r#","params":null"#, r#","params":{"protocolVersion":"1999-01-01"}"#, r#","params":[1]"#] {
            assert_eq!(read("initialize", params), Ok(Ask::Initialize), "{params}");
            assert_eq!(read("ping", params), Ok(Ask::Ping), "{params}");
            assert_eq!(read("tools/list", params), Ok(Ask::ListTools), "{params}");
        }
        let called = read("tools/call", r#","params":{"name":"a","arguments":{"x":1},"_meta":{}}"#);
        let order = Order { name: "a".into(), arguments: Some(json!({"x": 1})) };
        assert_eq!(called, Ok(Ask::CallTool(order)));
        let bare = Order { name: "a".into(), arguments: None };
        assert_eq!(read("tools/call", r#","params":{"name":"a"}"#), Ok(Ask::CallTool(bare)));
    }

    #[test]
    fn what_is_wrong_with_a_sound_message_is_told_in_canonical_words() {
        for params in ["", r#","params":null"#] {
            assert_eq!(read("tools/call", params), Err(Fault::no_params()), "{params}");
        }
        for params in ["{}", r#"["a"]"#, r#"{"name":1}"#, r#"{"name":null,"arguments":{}}"#, r#"{"arguments":{}}"#] {
            assert_eq!(read("tools/call", &format!(r#","params":{params}"#)), Err(Fault::other_params()), "{params}");
        }
        for method in
            ["resources/list", "prompts/list", "context.resolve", "Initialize", "", "notifications/initialized"]
        {
            assert_eq!(read(method, ""), Err(Fault::no_method(method)));
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
            let Refused { id: under, fault } = decode(text).unwrap_err();
            assert_eq!(fault.to_string(), format!("{{\"code\":{error}}}"), "{}", text.escape_ascii());
            assert_eq!(under.to_string(), id, "{}", text.escape_ascii());
        }
        assert_eq!(too_long(), Refused { id: Id::null(), fault: Fault::unreadable() });
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
            assert_eq!(decode(text.as_bytes()), Ok(None), "{text}");
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
                assert_eq!(arguments(tool, Some(given)), Err(Fault::from(code)), "{}", tool.listed);
            }
        }
    }
}
