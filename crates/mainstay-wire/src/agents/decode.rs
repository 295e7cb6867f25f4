//! From a message to a request.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::errors;
use crate::dialect::method_not_found;
use crate::jsonrpc::{self, Message};
use crate::request::{Operation, Request};

/// How much of an unknown method is repeated, in characters.
const METHOD_EXCERPT: usize = 100;

/// The params of `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InitializeParams {
    pub(super) client_info: Map<String, Value>,
    /// What the client means to use; everything if it does not say.
    pub(super) capabilities: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Named<A> {
    name: String,
    #[serde(default = "Option::default")]
    arguments: Option<A>,
}

#[derive(Deserialize)]
struct Uri {
    uri: String,
}

pub(super) fn request(Message { id, method, params }: Message) -> Request {
    let operation = operation(&method, jsonrpc::or_empty(params))
        .unwrap_or_else(|reason| Operation::InvalidParams(errors::of_params(reason)));
    Request { id, operation }
}

/// Fails with the reason why the params cannot be read.
fn operation(method: &str, params: Value) -> Result<Operation, String> {
    let params = || if params.is_object() { Ok(params) } else { Err("The params must be an object.".to_owned()) };
    Ok(match method {
        "initialize" => {
            let params = params()?;
            read::<InitializeParams>(method, params.clone())?;
            Operation::Initialize(params)
        }
        "tools/list" => Operation::ListTools(params()?),
        "tools/call" => {
            let Named::<Map<String, Value>> { name, arguments } = read(method, params()?)?;
            Operation::CallTool { name, args: Some(Value::Object(arguments.unwrap_or_default())) }
        }
        "resources/list" => params().map(|_| Operation::ListResources)?,
        "resources/read" => {
            let Uri { uri } = read(method, params()?)?;
            Operation::ReadResource { uri }
        }
        "prompts/list" => params().map(|_| Operation::ListPrompts)?,
        "prompts/execute" => {
            let Named::<BTreeMap<String, String>> { name, arguments } = read(method, params()?)?;
            Operation::GetPrompt { name, args: arguments.unwrap_or_default() }
        }
        unknown => {
            let method = printable(unknown);
            let mut response = method_not_found(&method);
            response.http.status = 400;
            Operation::UnknownMethod { method, response }
        }
    })
}

/// A method that somebody made up, as it may stand in a message and in the audit.
fn printable(method: &str) -> String {
    method.chars().map(|c| if c.is_ascii_graphic() { c } else { '?' }).take(METHOD_EXCERPT).collect()
}

/// The params of a method. Members it does not know are ignored, as the protocol says: a client may send `_meta`.
fn read<T: serde::de::DeserializeOwned>(method: &str, params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| format!("The params of {method} are not of its shape: {error}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Agents;
    use super::*;
    use crate::error::ErrorResponse;
    use crate::{Dialect as _, Id};

    fn decode(bytes: &[u8]) -> Option<Request> {
        Agents.decode(bytes)
    }

    fn read(method: &str, params: &Value) -> Request {
        decode(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().as_bytes()).unwrap()
    }

    fn rejected(operation: Operation) -> ErrorResponse {
        if let Operation::Malformed(response)
        | Operation::InvalidParams(response)
        | Operation::UnknownMethod { response, .. } = operation
        {
            return response;
        }
        panic!("{operation:?}")
    }

    #[test]
    fn each_method_is_read_with_its_params() {
        let ask = |method: &str, params: Value| read(method, &params).operation;
        let params = json!({"clientInfo": {"name": "c"}, "capabilities": ["tools"]});
        assert_eq!(ask("initialize", params.clone()), Operation::Initialize(params.clone()));
        let params: InitializeParams = serde_json::from_value(params).unwrap();
        assert_eq!((params.client_info["name"].as_str(), params.capabilities), (Some("c"), Some(vec!["tools".into()])));
        assert_eq!(ask("initialize", json!({})), Operation::Initialize(json!({})));
        let bare = Operation::CallTool { name: "a".into(), args: Some(json!({})) };
        assert_eq!(ask("tools/call", json!({"name": "a"})), bare);
        assert_eq!(
            ask("resources/read", json!({"uri": "a://b", "_meta": {}})),
            Operation::ReadResource { uri: "a://b".into() }
        );
        let args = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
        let executed = ask("prompts/execute", json!({"name": "p", "arguments": {"x": "1"}}));
        assert_eq!(executed, Operation::GetPrompt { name: "p".into(), args });
        assert_eq!(ask("tools/list", json!({})), Operation::ListTools(json!({})));
        assert_eq!(ask("resources/list", json!({})), Operation::ListResources);
        assert_eq!(ask("prompts/list", json!({})), Operation::ListPrompts);
    }

    #[test]
    fn what_cannot_be_acted_on_has_its_code_and_its_id() {
        for (method, params, code) in [
            ("no/such", json!({}), -32601),
            ("ping", json!({}), -32601),
            ("ping", json!([1]), -32601),
            ("prompts/get", json!({"name": "p"}), -32601),
            ("tools/call", json!({}), -32602),
            ("tools/call", json!({"name": 1}), -32602),
            ("tools/call", json!({"name": "a", "arguments": []}), -32602),
            ("tools/call", json!(["a"]), -32602),
            ("resources/read", json!({}), -32602),
            ("prompts/execute", json!({"name": "p", "arguments": {"x": 1}}), -32602),
            ("initialize", json!({"capabilities": {"tools": {}}}), -32602),
        ] {
            let Request { id, operation } = read(method, &params);
            assert_eq!((rejected(operation).code, id), (code, Some(Id::from(&json!(1)))), "{method} {params}");
        }
        for (text, code, status) in
            [("{", -32700, 400), ("[]", -32600, 400), ("[{}]", -32600, 400), ("{}", -32600, 400)]
        {
            let Request { id, operation } = decode(text.as_bytes()).unwrap();
            let error = rejected(operation);
            assert_eq!((error.code, error.http.status, id), (code, status, Some(Id::null())), "{text}");
        }
    }

    #[test]
    fn a_method_that_does_not_exist_is_told_printable_and_cut() {
        let unknown = |method: &str| {
            let operation = read(method, &json!({})).operation;
            if let Operation::UnknownMethod { method, .. } = operation { Some(method) } else { None }
        };
        assert_eq!(unknown("no such\u{202e}\n").as_deref(), Some("no?such??"));
        assert_eq!(unknown(&"x".repeat(101)), Some("x".repeat(100)));
        assert_eq!(unknown("tools/call"), None);
    }

    #[test]
    fn a_notification_has_no_id_to_be_answered_under() {
        let done = decode(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#).unwrap();
        assert_eq!(done.id, None);
        assert_eq!(decode(br#"{"jsonrpc":"2.0","method":"no/such"}"#).unwrap().id, None);
        assert_eq!(decode(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
    }
}
