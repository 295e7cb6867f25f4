//! From a message to a request.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::errors;
use super::list::SCHEME;
use crate::error::ErrorResponse;
use crate::jsonrpc::{self, Message};
use crate::request::{Operation, Request};

/// The params of `initialize` that have to be of their type. The version is negotiated: any text is accepted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    #[serde(default, rename = "protocolVersion")]
    _protocol_version: Option<String>,
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

/// Without an id nothing is carried out but the notifications about the connection and its calls: a client could not learn
/// how a call has ended.
pub(super) fn request(Message { id, method, params }: Message) -> Option<Request> {
    let operation = match (&id, method.as_str()) {
        // That it cannot be read is what is wrong with a broken handshake, whatever the state of the connection.
        (Some(_), "initialize") => operation(method, params).unwrap_or_else(Operation::Malformed),
        (Some(_), _) => operation(method, params).unwrap_or_else(Operation::InvalidParams),
        (None, "notifications/initialized") => Operation::Initialized,
        (None, "notifications/cancelled") => {
            let id = params.and_then(|mut params| params.get_mut("requestId").map(Value::take));
            Operation::Cancel { id: id? }
        }
        (None, "exit") => Operation::Exit,
        (None, _) => return None,
    };
    Some(Request { id, operation })
}

/// Fails with the error for params that cannot be read.
fn operation(method: String, params: Option<Value>) -> Result<Operation, ErrorResponse> {
    let params = jsonrpc::or_empty(params);
    if !params.is_object() {
        return Err(errors::of_params("The params must be an object."));
    }
    Ok(match method.as_str() {
        "initialize" => {
            read::<Initialize>(&method, params.clone())?;
            Operation::Initialize(params)
        }
        "ping" => Operation::Ping,
        "shutdown" => Operation::Shutdown,
        "tools/list" => Operation::ListTools(params),
        "tools/call" => {
            let Named::<Map<String, Value>> { name, arguments } = read(&method, params)?;
            Operation::CallTool { name, args: Some(Value::Object(arguments.unwrap_or_default())) }
        }
        "resources/list" => Operation::ListResources,
        "resources/read" => {
            let Uri { uri } = read(&method, params)?;
            // The dialect has no other resources, whatever else the server has.
            if !uri.starts_with(SCHEME) {
                return Err(errors::of_foreign_uri(&uri));
            }
            Operation::ReadResource { uri }
        }
        "prompts/list" => Operation::ListPrompts,
        "prompts/get" => {
            let Named::<BTreeMap<String, String>> { name, arguments } = read(&method, params)?;
            Operation::GetPrompt { name, args: arguments.unwrap_or_default() }
        }
        // Every tool's name is a method; whether there is such a tool is for the registry to say.
        _ => Operation::CallMethod { name: method, args: Some(params) },
    })
}

/// The params of a method. Members it does not know are ignored, as the protocol says: a client may send `_meta`.
fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, ErrorResponse> {
    serde_json::from_value(params)
        .map_err(|error| errors::of_params(&format!("The params of {method} are not of its shape: {error}.")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Toolkit;
    use super::*;
    use crate::{Dialect as _, Id};

    fn decode(text: &str) -> Option<Request> {
        Toolkit::new().unwrap().decode(text.as_bytes())
    }

    fn ask(method: &str, params: &Value) -> Operation {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        decode(&message.to_string()).unwrap().operation
    }

    fn rejected(operation: Operation) -> ErrorResponse {
        if let Operation::Malformed(response) | Operation::InvalidParams(response) = operation {
            return response;
        }
        panic!("{operation:?}")
    }

    #[test]
    fn each_method_is_read_with_its_params() {
        let hello = json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "c"}});
        assert_eq!(ask("initialize", &hello), Operation::Initialize(hello.clone()));
        assert_eq!(ask("initialize", &Value::Null), Operation::Initialize(json!({})));
        assert_eq!(ask("ping", &json!({})), Operation::Ping);
        assert_eq!(ask("shutdown", &Value::Null), Operation::Shutdown);
        assert_eq!(ask("tools/list", &json!({})), Operation::ListTools(json!({})));
        assert_eq!(ask("resources/list", &json!({})), Operation::ListResources);
        assert_eq!(ask("prompts/list", &json!({})), Operation::ListPrompts);
        let called = ask("tools/call", &json!({"name": "a", "arguments": {"x": 1}, "_meta": {}}));
        assert_eq!(called, Operation::CallTool { name: "a".into(), args: Some(json!({"x": 1})) });
        let bare = Operation::CallTool { name: "a".into(), args: Some(json!({})) };
        assert_eq!(ask("tools/call", &json!({"name": "a"})), bare);
        assert_eq!(ask("tools/call", &json!({"name": "a", "arguments": null})), bare);
        let uri = "template://makefile/rust/cli";
        assert_eq!(ask("resources/read", &json!({"uri": uri})), Operation::ReadResource { uri: uri.into() });
        let args = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
        let prompt = ask("prompts/get", &json!({"name": "p", "arguments": {"x": "1"}}));
        assert_eq!(prompt, Operation::GetPrompt { name: "p".into(), args });
    }

    #[test]
    fn any_other_method_is_the_name_of_a_tool_and_its_params_are_the_arguments() {
        for (method, params) in [("analyze_complexity", json!({"project_path": "./"})), ("no/such", json!({}))] {
            let expected = Operation::CallMethod { name: method.into(), args: Some(params.clone()) };
            assert_eq!(ask(method, &params), expected);
        }
        let bare = decode(r#"{"jsonrpc":"2.0","id":1,"method":"list_templates"}"#).unwrap().operation;
        assert_eq!(bare, Operation::CallMethod { name: "list_templates".into(), args: Some(json!({})) });
    }

    #[test]
    fn params_that_cannot_be_read_are_invalid_params() {
        for (method, params) in [
            ("tools/call", json!({})),
            ("tools/call", json!({"name": 1})),
            ("tools/call", json!({"name": "a", "arguments": []})),
            ("tools/call", json!(["a"])),
            ("list_templates", json!([])),
            ("initialize", json!({"protocolVersion": 5})),
            ("resources/read", json!({})),
            ("prompts/get", json!({"name": "p", "arguments": {"x": 1}})),
        ] {
            let error = rejected(ask(method, &params));
            assert_eq!((error.code, &*error.message), (-32602, "Invalid params"), "{method} {params}");
            assert!(error.data.unwrap()["detail"].is_string(), "{method} {params}");
        }
        for uri in ["file:///etc/passwd", "context://a/b", "", "makefile/rust/cli", "TEMPLATE://makefile/rust/cli"] {
            let error = rejected(ask("resources/read", &json!({"uri": uri})));
            assert_eq!((error.code, &*error.message), (-32001, "Invalid template URI"), "{uri}");
            assert_eq!(error.data.unwrap()["uri"], uri);
        }
    }

    #[test]
    fn what_is_no_message_has_its_code_and_its_id() {
        let bom = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        for (text, code, message, id) in [
            ("{", -32700, "Parse error", json!(null)),
            (bom, -32700, "Parse error", json!(null)),
            ("[]", -32600, "Invalid request", json!(null)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, "Invalid request", json!(null)),
            (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, -32600, "Invalid request", json!("x")),
            (r#"{"jsonrpc":"2.0","id":4}"#, -32600, "Invalid request", json!(4)),
        ] {
            let Request { id: under, operation } = decode(text).unwrap();
            let error = rejected(operation);
            assert_eq!((error.code, &*error.message), (code, message), "{text}");
            assert_eq!(under, Some(Id::from(&id)), "{text}");
            let data = error.data.unwrap();
            let detail = data["detail"].as_str().unwrap();
            assert!(!detail.is_empty() && !detail.starts_with("Invalid Request"), "{detail}");
        }
    }

    #[test]
    fn notifications_change_the_state_or_do_nothing() {
        let notified = |method: &str| decode(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#));
        let request = |operation| Some(Request { id: None, operation });
        assert_eq!(notified("notifications/initialized"), request(Operation::Initialized));
        assert_eq!(notified("exit"), request(Operation::Exit));
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"r"}}"#;
        assert_eq!(decode(cancel), request(Operation::Cancel { id: json!("a") }));
        assert_eq!(notified("notifications/cancelled"), None);
        for method in ["initialize", "shutdown", "ping", "tools/call", "list_templates", "no/such", "notifications/x"] {
            assert_eq!(notified(method), None, "{method}");
        }
        assert_eq!(decode(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        let asked = ask("notifications/initialized", &json!({}));
        assert!(matches!(asked, Operation::CallMethod { .. }), "under an id it is a method that does not exist");
    }
}
