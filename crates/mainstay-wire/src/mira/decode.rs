//! From bytes to what is to be done.

use serde_json::{Map, Value};

use super::Fault;
use crate::Id;
use crate::jsonrpc::{self, Message, Refusal};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the answer goes out under; without it the thing is done and not answered.
    pub id: Option<Id>,
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// `tools/list`, with params still to be held against their schema.
    List(Value),
    Call {
        tool: String,
        args: Map<String, Value>,
    },
}

impl Request {
    /// Whether the caller wants to see the output as it appears, and has an id to be told under.
    pub fn wants_stream(&self) -> bool {
        match &self.ask {
            Ask::Call { args, .. } => self.id.is_some() && args.get("stream") == Some(&Value::Bool(true)),
            Ask::List(_) => false,
        }
    }
}

/// A message that cannot be acted on, and the id its error goes out under.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub id: Id,
    pub fault: Fault,
}

/// Reads one message. There is nothing to do for an answer, for a list nobody waits for, and for a notification about
/// the protocol: the contract has none.
pub fn decode(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let Some(Message { id, method, params }) = jsonrpc::read(bytes).map_err(|refusal| refused(&refusal))? else {
        return Ok(None);
    };
    let idle = id.is_none() && (method == "tools/list" || method.starts_with("notifications/"));
    let args = match (jsonrpc::or_empty(params), &id) {
        (Value::Object(args), _) if !idle => args,
        (Value::Array(_), Some(id)) => {
            return Err(Refused { id: id.clone(), fault: Fault::params("params", "The params must be an object.") });
        }
        _ => return Ok(None),
    };
    let ask = if method == "tools/list" { Ask::List(Value::Object(args)) } else { Ask::Call { tool: method, args } };
    Ok(Some(Request { id, ask }))
}

/// The refusal of a frame, in the contract's words.
pub fn refused(refusal: &Refusal) -> Refused {
    Refused { id: refusal.id.clone(), fault: Fault::frame(refusal) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(message: &Value) -> Option<Request> {
        decode(message.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_method_is_the_tool_and_the_params_are_its_arguments() {
        let call =
            read(&json!({"jsonrpc": "2.0", "method": "files/read", "params": {"path": "a"}, "id": "x"})).unwrap();
        let args = json!({"path": "a"}).as_object().unwrap().clone();
        assert_eq!(
            call,
            Request { id: Some(Id::from(&json!("x"))), ask: Ask::Call { tool: "files/read".into(), args } }
        );
        let bare = read(&json!({"jsonrpc": "2.0", "method": "server/time", "id": 1})).unwrap();
        assert_eq!(bare.ask, Ask::Call { tool: "server/time".into(), args: Map::new() });
        let list = read(&json!({"jsonrpc": "2.0", "method": "tools/list", "params": {"limit": 5}, "id": 1})).unwrap();
        assert_eq!(list.ask, Ask::List(json!({"limit": 5})));
    }

    #[test]
    fn a_call_without_an_id_is_still_a_call() {
        let call = read(&json!({"jsonrpc": "2.0", "method": "exec/run", "params": {"stream": true}})).unwrap();
        assert_eq!(call.id, None);
        assert!(!call.wants_stream(), "there is nobody to stream to");
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
        let refused = decode(br#"{"jsonrpc":"2.0","id":3,"method":"files/read","params":["a"]}"#).unwrap_err();
        assert_eq!(
            (refused.id, refused.fault.code, refused.fault.message),
            (Id::from(&json!(3)), -32602, "Invalid params")
        );
    }

    #[test]
    fn a_frame_that_is_none_is_refused_in_the_contracts_words() {
        for (text, code, message, id) in [
            ("{", -32700, "Parse error", Value::Null),
            ("[]", -32600, "Invalid Request", Value::Null),
            (r#"{"jsonrpc":"1.0","id":4,"method":"a"}"#, -32600, "Invalid Request", json!(4)),
        ] {
            let refused = decode(text.as_bytes()).unwrap_err();
            assert_eq!(
                (refused.fault.code, refused.fault.message, refused.id),
                (code, message, Id::from(&id)),
                "{text}"
            );
            let detail = refused.fault.data["detail"].as_str().unwrap();
            assert!(!detail.is_empty() && !detail.contains(message), "{detail}");
        }
    }
}
