//! From bytes to a request: the method is the name of the tool, the params are its arguments.

use serde_json::Value;

use super::errors;
use crate::jsonrpc::{self, Message};
use crate::request::{Operation, Request};

/// There is nothing to do for a list without an id, and for notifications of the standard protocol, of which the contract
/// has none.
pub(super) fn request(Message { id, method, params }: Message) -> Option<Request> {
    if id.is_none() && (method == "tools/list" || method.starts_with("notifications/")) {
        return None;
    }
    let operation = match jsonrpc::or_empty(params) {
        Value::Object(args) if method == "tools/list" => Operation::ListTools(Value::Object(args)),
        Value::Object(args) => Operation::CallTool { name: method, args: Some(Value::Object(args)) },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            // Params in an array are answered if there is an id to answer under.
            id.as_ref()?;
            Operation::InvalidParams(errors::invalid_params("params", "The params must be an object."))
        }
    };
    Some(Request { id, operation })
}

/// Whether the client wants the output as it appears, and has an id under which it can be sent.
pub(super) fn wants_chunks(request: &Request) -> bool {
    let Operation::CallTool { args: Some(args), .. } = &request.operation else { return false };
    request.id.is_some() && args.get("stream") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Mira;
    use super::*;
    use crate::error::ErrorResponse;
    use crate::{Dialect as _, Id};

    fn decode(bytes: &[u8]) -> Option<Request> {
        Mira::new().unwrap().decode(bytes)
    }

    fn read(message: &Value) -> Option<Request> {
        decode(message.to_string().as_bytes())
    }

    fn rejected(text: &str) -> (Id, ErrorResponse) {
        match decode(text.as_bytes()) {
            Some(Request {
                id: Some(id),
                operation: Operation::Malformed(error) | Operation::InvalidParams(error),
            }) => (id, error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_method_is_the_tool_and_the_params_are_its_arguments() {
        let call =
            read(&json!({"jsonrpc": "2.0", "method": "files/read", "params": {"path": "a"}, "id": "x"})).unwrap();
        let operation = Operation::CallTool { name: "files/read".into(), args: Some(json!({"path": "a"})) };
        assert_eq!(call, Request { id: Some(Id::from(&json!("x"))), operation });
        let bare = read(&json!({"jsonrpc": "2.0", "method": "server/time", "id": 1})).unwrap();
        assert_eq!(bare.operation, Operation::CallTool { name: "server/time".into(), args: Some(json!({})) });
        let list = read(&json!({"jsonrpc": "2.0", "method": "tools/list", "params": {"limit": 5}, "id": 1})).unwrap();
        assert_eq!(list.operation, Operation::ListTools(json!({"limit": 5})));
    }

    #[test]
    fn a_call_without_an_id_is_still_a_call() {
        let call = read(&json!({"jsonrpc": "2.0", "method": "exec/run", "params": {"stream": true}})).unwrap();
        assert_eq!(call.id, None);
        assert!(!wants_chunks(&call), "there is nobody to stream to");
    }

    #[test]
    fn what_needs_no_answer_and_does_nothing_is_let_go() {
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "method": "files/read", "params": []}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ] {
            assert_eq!(read(&message), None, "{message}");
        }
    }

    #[test]
    fn params_in_an_array_are_invalid_params() {
        let (id, error) = rejected(r#"{"jsonrpc":"2.0","id":3,"method":"files/read","params":["a"]}"#);
        assert_eq!((id, error.code, &*error.message), (Id::from(&json!(3)), -32602, "Invalid params"));
    }

    #[test]
    fn a_frame_that_is_none_is_refused_in_the_contracts_words() {
        for (text, code, message, id) in [
            ("{", -32700, "Parse error", Value::Null),
            ("[]", -32600, "Invalid Request", Value::Null),
            (r#"{"jsonrpc":"1.0","id":4,"method":"a"}"#, -32600, "Invalid Request", json!(4)),
        ] {
            let (under, error) = rejected(text);
            assert_eq!((error.code, &*error.message, under), (code, message, Id::from(&id)), "{text}");
            let data = error.data.unwrap();
            let detail = data["detail"].as_str().unwrap();
            assert!(!detail.is_empty() && !detail.contains(message), "{detail}");
        }
    }
}
