//! Messages of a node over its WebSocket.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::rpc::ErrorMember;

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<ErrorMember>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    subscription: u64,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// A message that the worker reacts to.
#[derive(Debug)]
pub(super) enum Message {
    /// The subscription of this request has this number.
    Subscribed {
        id: u64,
        subscription: u64,
    },
    /// The node rejected a request.
    Rejected {
        id: u64,
        code: i64,
        message: String,
        data: Option<Value>,
    },
    Notification {
        subscription: u64,
        result: Arc<RawValue>,
    },
}

/// Anything else is `None`: answers to the end of a subscription, and what later nodes may send.
pub(super) fn parse(text: &str) -> Option<Message> {
    let incoming: Incoming<'_> = serde_json::from_str(text).ok()?;
    if let Some(Params { subscription, result }) = incoming.params {
        return Some(Message::Notification { subscription, result: Arc::from(result.to_owned()) });
    }
    let id = incoming.id?.as_u64()?;
    if let Some(ErrorMember { code, message, data }) = incoming.error {
        return Some(Message::Rejected { id, code, message, data });
    }
    Some(Message::Subscribed { id, subscription: incoming.result?.as_u64()? })
}

/// Whether this notification of a signature is the last one: the node ends the subscription by itself. Only the note that
/// the transaction was received has another one after it.
pub(super) fn is_last_of_signature(result: &RawValue) -> bool {
    let parsed: Result<Value, _> = serde_json::from_str(result.get());
    !parsed.is_ok_and(|result| result["value"] == "receivedSignature")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_passed_through_to_the_byte() {
        let text = r#"{"jsonrpc":"2.0","method":"accountNotification","params":{"result": {"value": 18446744073709551616 },"subscription":5}}"#;
        let Some(Message::Notification { subscription: 5, result }) = parse(text) else { panic!("no notification") };
        assert_eq!(result.get(), r#"{"value": 18446744073709551616 }"#);
    }

    #[test]
    fn answers_are_told_apart() {
        let subscribed = parse(r#"{"jsonrpc":"2.0","result":24,"id":1}"#);
        assert!(matches!(subscribed, Some(Message::Subscribed { id: 1, subscription: 24 })));
        let rejected = parse(r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"},"id":2}"#);
        assert!(matches!(rejected, Some(Message::Rejected { id: 2, code: -32602, .. })));
        for other in [r#"{"jsonrpc":"2.0","result":true,"id":3}"#, "{}", "[]", "x", r#"{"result":1}"#] {
            assert!(parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_note_that_a_transaction_was_received_is_not_the_last() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        assert!(!is_last_of_signature(&raw(r#"{"context":{"slot":1},"value":"receivedSignature"}"#)));
        assert!(is_last_of_signature(&raw(r#"{"context":{"slot":1},"value":{"err":null}}"#)));
    }
}
