//! From bytes to what is to be done.

use std::collections::BTreeMap;

use mainstay_core::Error;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Fault;
use crate::Id;
use crate::jsonrpc::{self, Message, Refusal};

/// How much of a method that does not exist is shown.
const LONGEST_SHOWN: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the answer goes out under; without it the thing is done and not answered.
    pub id: Option<Id>,
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Initialize(Greeting),
    ListTools,
    CallTool { name: String, args: Map<String, Value> },
    ListResources,
    ReadResource { uri: String },
    ListPrompts,
    ExecutePrompt { name: String, args: BTreeMap<String, String> },
}

impl Ask {
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::ListTools => "tools/list",
            Self::CallTool { .. } => "tools/call",
            Self::ListResources => "resources/list",
            Self::ReadResource { .. } => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::ExecutePrompt { .. } => "prompts/execute",
        }
    }
}

/// How a client introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Greeting {
    pub client_info: Map<String, Value>,
    /// What it means to use; everything if it does not say.
    pub capabilities: Option<Vec<String>>,
}

/// A message that cannot be acted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The id its error goes out under; a notification is not answered, whatever is wrong with it.
    pub id: Option<Id>,
    pub fault: Fault,
    /// The method, where there is no such one: printable and cut.
    pub unknown_method: Option<String>,
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

/// Reads one message; nothing for the peer's answer to something it was never asked.
pub fn decode(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let Some(Message { id, method, params }) = jsonrpc::read(bytes).map_err(|refusal| refused(&refusal))? else {
        return Ok(None);
    };
    let params = jsonrpc::or_empty(params);
    let is_object = params.is_object();
    let asked = match ask(&method, params) {
        None => {
            let shown = shown(&method);
            return Err(Refused { id, fault: Fault::no_method(&shown), unknown_method: Some(shown) });
        }
        Some(_) if !is_object => Err(Fault::of(&Error::field("params", "The params must be an object."))),
        Some(asked) => asked,
    };
    match asked {
        Ok(ask) => Ok(Some(Request { id, ask })),
        Err(fault) => Err(Refused { id, fault, unknown_method: None }),
    }
}

/// A name somebody made up, as it may stand in a message and in the records.
fn shown(method: &str) -> String {
    method.chars().map(|c| if c.is_ascii_graphic() { c } else { '?' }).take(LONGEST_SHOWN).collect()
}

/// The refusal of a frame, in the contract's words.
pub fn refused(refusal: &Refusal) -> Refused {
    Refused { id: Some(refusal.id.clone()), fault: Fault::frame(refusal), unknown_method: None }
}

/// Nothing where there is no such method.
fn ask(method: &str, params: Value) -> Option<Result<Ask, Fault>> {
    Some(match method {
        "initialize" => read(method, params).map(Ask::Initialize),
        "tools/list" => Ok(Ask::ListTools),
        "tools/call" => read(method, params)
            .map(|Named { name, arguments }| Ask::CallTool { name, args: arguments.unwrap_or_default() }),
        "resources/list" => Ok(Ask::ListResources),
        "resources/read" => read(method, params).map(|Uri { uri }| Ask::ReadResource { uri }),
        "prompts/list" => Ok(Ask::ListPrompts),
        "prompts/execute" => read(method, params)
            .map(|Named { name, arguments }| Ask::ExecutePrompt { name, args: arguments.unwrap_or_default() }),
        _ => return None,
    })
}

/// The params as the method's. Members it does not know are let be, as the protocol has it: a client may send `_meta`.
fn read<T: serde::de::DeserializeOwned>(method: &str, params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|error| {
        Fault::of(&Error::field("params", format!("The params of {method} are not of its shape: {error}.")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(method: &str, params: &Value) -> Result<Option<Request>, Refused> {
        decode(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().as_bytes())
    }

    #[test]
    fn each_method_is_read_with_its_params() {
        let ask = |method: &str, params: Value| read(method, &params).unwrap().unwrap().ask;
        let Ask::Initialize(greeting) =
            ask("initialize", json!({"clientInfo": {"name": "c"}, "capabilities": ["tools"]}))
        else {
            panic!("no greeting")
        };
        assert_eq!(
            (greeting.client_info["name"].as_str(), greeting.capabilities),
            (Some("c"), Some(vec!["tools".into()]))
        );
        assert_eq!(ask("initialize", json!({})), Ask::Initialize(Greeting::default()));
        assert_eq!(ask("tools/call", json!({"name": "a"})), Ask::CallTool { name: "a".into(), args: Map::new() });
        assert_eq!(
            ask("resources/read", json!({"uri": "a://b", "_meta": {}})),
            Ask::ReadResource { uri: "a://b".into() }
        );
        let args = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
        let executed = ask("prompts/execute", json!({"name": "p", "arguments": {"x": "1"}}));
        assert_eq!(executed, Ask::ExecutePrompt { name: "p".into(), args });
        for method in ["tools/list", "resources/list", "prompts/list"] {
            assert_eq!(ask(method, json!({})).method(), method);
        }
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
            let refused = read(method, &params).unwrap_err();
            assert_eq!((refused.fault.code, refused.id), (code, Some(Id::from(&json!(1)))), "{method} {params}");
        }
        for (text, code, status) in
            [("{", -32700, 400), ("[]", -32600, 400), ("[{}]", -32600, 400), ("{}", -32600, 400)]
        {
            let refused = decode(text.as_bytes()).unwrap_err();
            assert_eq!(
                (refused.fault.code, refused.fault.status, refused.id),
                (code, status, Some(Id::null())),
                "{text}"
            );
        }
    }

    #[test]
    fn a_method_that_does_not_exist_is_told_printable_and_cut() {
        let unknown = |method: &str| read(method, &json!({})).unwrap_err().unknown_method;
        assert_eq!(unknown("no such\u{202e}\n").as_deref(), Some("no?such??"));
        assert_eq!(unknown(&"x".repeat(101)), Some("x".repeat(100)));
        assert_eq!(unknown("tools/call"), None);
    }

    #[test]
    fn a_notification_has_no_id_to_be_answered_under() {
        let done = decode(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#).unwrap().unwrap();
        assert_eq!(done.id, None);
        assert_eq!(decode(br#"{"jsonrpc":"2.0","method":"no/such"}"#).unwrap_err().id, None);
        assert_eq!(decode(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap(), None);
    }
}
