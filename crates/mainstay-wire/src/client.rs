//! JSON-RPC from the side of a client: requests to another server, and its messages.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND};

/// A request as it is sent.
pub fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A notification without params.
pub fn notification(method: &str) -> String {
    json!({"jsonrpc": "2.0", "method": method}).to_string()
}

/// The error member of a response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Fault {
    pub code: i64,
    #[serde(default)]
    pub message: String,
    pub data: Option<Value>,
}

impl Fault {
    /// Whether the server does not know the method at all. Some servers answer with "invalid request" then.
    pub fn is_unknown_method(&self) -> bool {
        self.code == i64::from(METHOD_NOT_FOUND) || self.code == i64::from(INVALID_REQUEST)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)?;
        self.data.iter().try_for_each(|data| write!(f, " {data}"))
    }
}

/// One message from a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    /// The response to the request with this id. `None`: the server could not read the id.
    Response { id: Option<Value>, outcome: Result<Value, Fault> },
    /// A notification, or a request of the server: this client answers none.
    Notification { method: String, params: Value },
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Fault>,
}

/// Parses one message; `None` if it is no JSON-RPC message.
pub fn parse_message(text: &str) -> Option<ServerMessage> {
    let Envelope { id, method, params, result, error } = serde_json::from_str(text).ok()?;
    let outcome = match (method, result, error) {
        (Some(method), _, _) => return Some(ServerMessage::Notification { method, params }),
        (None, _, Some(fault)) => Err(fault),
        (None, Some(result), None) => Ok(result),
        (None, None, None) => return None,
    };
    Some(ServerMessage::Response { id, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_notes_are_told_apart() {
        let result = parse_message(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#);
        assert_eq!(result, Some(ServerMessage::Response { id: Some(json!(1)), outcome: Ok(json!({"a": 1})) }));
        let note = parse_message(r#"{"jsonrpc":"2.0","method":"exec/stream","params":{"seq":0}}"#);
        assert_eq!(note, Some(ServerMessage::Notification { method: "exec/stream".into(), params: json!({"seq": 0}) }));
        let Some(ServerMessage::Response { outcome: Err(fault), id: None }) = parse_message(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1001,"message":"Not found","data":{"detail":"x"}}}"#,
        ) else {
            panic!("an error is an answer")
        };
        assert_eq!(fault.to_string(), r#"error 1001: Not found {"detail":"x"}"#);
        assert!(!fault.is_unknown_method());
        for nothing in ["", "[]", "{}", "<html>"] {
            assert_eq!(parse_message(nothing), None, "{nothing}");
        }
    }
}
