//! JSON-RPC requests and responses. Results stay the text that the node sent.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault::{Fault, NodeError};

/// The state of the ledger for which a node answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub slot: u64,
    pub api_version: Option<String>,
}

/// A result as it came, and the context where the method has one.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) value: Arc<RawValue>,
    pub(super) context: Option<Context>,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a [Value],
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ErrorMember>,
}

/// The error of a node, over HTTP and WebSocket alike.
#[derive(Deserialize)]
pub(crate) struct ErrorMember {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<Value>,
}

#[derive(Deserialize)]
struct WithContext<'a> {
    context: ContextMember,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextMember {
    slot: u64,
    #[serde(default)]
    api_version: Option<String>,
}

/// `null` is a result like any other; an `Option` alone would take it for a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// One request. Never a batch: nodes refuse them or count them several times.
pub(crate) fn request(id: u64, method: &str, params: &[Value]) -> Vec<u8> {
    // Writing JSON values to memory cannot fail.
    serde_json::to_vec(&Request { jsonrpc: "2.0", id, method, params }).unwrap_or_default()
}

/// Reads the response to the request with this id.
pub(super) fn parse_response(body: &[u8], id: u64, has_context: bool) -> Result<Received, Fault> {
    let malformed = |reason| Fault::Malformed { reason };
    let response: Response<'_> =
        serde_json::from_slice(body).map_err(|_| malformed("the body is no JSON-RPC response"))?;
    let sent_id = response.id.map_or("null", RawValue::get);
    if let Some(ErrorMember { code, message, data }) = response.error {
        // A node that could not read the request does not know its id.
        if sent_id != "null" && sent_id != id.to_string() {
            return Err(malformed("the id is that of another request"));
        }
        return Err(Fault::of_node(NodeError { code, message, data }));
    }
    if sent_id != id.to_string() {
        return Err(malformed("the id is that of another request"));
    }
    let result = response.result.ok_or_else(|| malformed("there is neither a result nor an error"))?;
    if !has_context {
        return Ok(Received { value: shared(result), context: None });
    }
    let parsed: WithContext<'_> =
        serde_json::from_str(result.get()).map_err(|_| malformed("the result has no context and value"))?;
    let ContextMember { slot, api_version } = parsed.context;
    Ok(Received { value: shared(parsed.value), context: Some(Context { slot, api_version }) })
}

fn shared(raw: &RawValue) -> Arc<RawValue> {
    Arc::from(raw.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &str, has_context: bool) -> Result<Received, Fault> {
        parse_response(body.as_bytes(), 7, has_context)
    }

    #[test]
    fn a_request_is_a_single_object() {
        let body = request(7, "getBalance", &[json!("key"), json!({"minContextSlot": u64::MAX})]);
        let expected = r#"{"jsonrpc":"2.0","id":7,"method":"getBalance","params":["key",{"minContextSlot":18446744073709551615}]}"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn a_result_is_passed_through_to_the_byte() {
        let body = r#"{"jsonrpc":"2.0","result":{"a": 18446744073709551616.10 , "b":1e400},"id":7}"#;
        let received = parse(body, false).unwrap();
        assert_eq!(received.value.get(), r#"{"a": 18446744073709551616.10 , "b":1e400}"#);
        assert_eq!(received.context, None);
    }

    #[test]
    fn a_null_result_is_a_result() {
        assert_eq!(parse(r#"{"id":7,"result":null}"#, false).unwrap().value.get(), "null");
        let received = parse(r#"{"id":7,"result":{"context":{"slot":3},"value":null}}"#, true).unwrap();
        assert_eq!(received.value.get(), "null");
        assert_eq!(received.context, Some(Context { slot: 3, api_version: None }));
    }

    #[test]
    fn the_context_is_read_and_the_value_stays_as_it_is() {
        let body = r#"{"id":7,"result":{"context":{"apiVersion":"4.1.2","slot":9007199254740993,"new":1},"value": 9007199254740993}}"#;
        let received = parse(body, true).unwrap();
        assert_eq!(received.value.get(), "9007199254740993");
        let context = received.context.unwrap();
        assert_eq!((context.slot, context.api_version.as_deref()), (9_007_199_254_740_993, Some("4.1.2")));
    }

    #[test]
    fn a_response_to_another_request_is_malformed() {
        for id in ["8", "\"7\"", "null", "7.0", "[7]"] {
            let fault = parse(&format!(r#"{{"id":{id},"result":1}}"#), false).unwrap_err();
            assert!(matches!(fault, Fault::Malformed { .. }), "{id}");
        }
        assert!(matches!(parse(r#"{"id":8,"error":{"code":1}}"#, false), Err(Fault::Malformed { .. })));
        assert!(matches!(parse(r#"{"result":1}"#, false), Err(Fault::Malformed { .. })));
        assert!(matches!(parse(r#"{"id":7}"#, false), Err(Fault::Malformed { .. })));
        assert!(matches!(parse(r#"[{"id":7,"result":1}]"#, false), Err(Fault::Malformed { .. })));
        assert!(matches!(parse(r#"{"id":7,"resul"#, false), Err(Fault::Malformed { .. })));
        assert!(matches!(parse(r#"{"id":7,"result":5}"#, true), Err(Fault::Malformed { .. })));
    }

    #[test]
    fn an_error_may_have_no_id_and_keeps_its_data() {
        let body = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid param","data":{"n":18446744073709551615}},"id":null}"#;
        let Err(Fault::Node(error)) = parse(body, true) else { panic!("not an error of the node") };
        assert_eq!((error.code, error.message.as_str()), (-32602, "Invalid param"));
        assert_eq!(error.data, Some(json!({"n": u64::MAX})));
        assert_eq!(parse(r#"{"id":7,"result":1,"error":null}"#, false).unwrap().value.get(), "1");
    }
}
