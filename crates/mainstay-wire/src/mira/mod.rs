//! The dialect `mira` (contract 000): the method is the name of the tool, the params are its arguments, and the result is
//! its value, bare.
//!
//! The contract's schemas are in `contracts/mira/schemas` and are used as they are there.

mod contract;
mod errors;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::schema::Validator;
use mainstay_core::{DialectPolicy, Error, Reply, Result, ToolInfo, quoted};
use serde_json::{Value, json};

use crate::content::bare;
use crate::dialect::{Dialect, DialectEntry, Encoded, ToolQuery, ToolState};
use crate::error::ErrorResponse;
use crate::id::Id;
use crate::jsonrpc::{self, Message, Refusal};
use crate::request::{Operation, Request};
use contract::Contract;

pub use contract::NAME;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "The method is the name of the tool, the result its bare value",
    only_family: None,
    build: |_| Ok(Arc::new(Mira::new()?)),
};

/// The dialect, with its compiled schemas.
pub struct Mira {
    contract: Contract,
}

impl Mira {
    /// Fails only if a schema of the contract does not compile.
    pub fn new() -> Result<Self> {
        Ok(Self { contract: Contract::read()? })
    }
}

impl Dialect for Mira {
    fn policy(&self) -> DialectPolicy {
        DialectPolicy { name: NAME, whole_output: true, ..DialectPolicy::default() }
    }

    /// The method is the name of the tool. There is nothing to do for a list without an id, and for notifications of the
    /// standard protocol, of which the contract has none.
    fn request(&self, Message { id, method, params }: Message) -> Option<Request> {
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

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    fn error(&self, error: &Error, _operation: &str, _now: Timestamp) -> ErrorResponse {
        errors::of_error(error)
    }

    fn reply(&self, tool: &str, reply: Reply) -> Encoded {
        if reply.failed {
            return Err(errors::of_failed_reply(&reply));
        }
        Ok(self.contract.close(tool, bare(reply)).to_string().into_bytes())
    }

    /// Every tool of the server has a name here.
    fn tool_name<'a>(&self, tool: &'a ToolInfo) -> Option<Cow<'a, str>> {
        Some(contract::tool_name(tool).into())
    }

    fn tool_query(&self, params: Value) -> Result<ToolQuery> {
        self.contract.tool_query(params)
    }

    fn tool_entry(&self, tool: &ToolInfo, state: ToolState<'_>) -> Option<Value> {
        Some(self.contract.entry(tool, state))
    }

    fn tool_list(&self, entries: Vec<Value>, next: Option<String>) -> Value {
        json!({"tools": entries, "next_cursor": next})
    }

    fn narrowed(&self, tool: &str) -> Option<Arc<Validator>> {
        self.contract.params(tool).cloned()
    }

    /// A tool that does not exist is a method that does not exist.
    fn unknown_name(&self, _kind: &str, name: &str, _now: Timestamp) -> ErrorResponse {
        let name = quoted(name);
        let error = Error::unknown(format!("There is no method {name}; tools/list names those there are."));
        errors::of_error(&error)
    }

    /// The output can be sent as it appears only if there is an id under which to send it.
    fn wants_chunks(&self, request: &Request) -> bool {
        let Operation::CallTool { args: Some(args), .. } = &request.operation else { return false };
        request.id.is_some() && args.get("stream") == Some(&Value::Bool(true))
    }

    fn chunk(&self, id: &Id, stream: &str, seq: u64, text: &str) -> Option<Vec<u8>> {
        let (stream, chunk) = (Value::from(stream), Value::from(text));
        let params = format!(r#"{{"id":{id},"stream":{stream},"seq":{seq},"chunk":{chunk}}}"#);
        Some(format!(r#"{{"jsonrpc":"2.0","method":"exec/stream","params":{params}}}"#).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Block;

    use super::*;

    fn mira() -> Mira {
        Mira::new().unwrap()
    }

    fn parsed(text: &[u8]) -> Value {
        serde_json::from_slice(text).unwrap()
    }

    #[test]
    fn a_value_is_the_whole_result() {
        let value = mira().reply("other/tool", Reply::structured(json!({"path": "a", "size": 1}))).unwrap();
        assert_eq!(
            parsed(&jsonrpc::result(&Id::from(&json!("x")), value)),
            json!({"jsonrpc": "2.0", "id": "x", "result": {"path": "a", "size": 1}})
        );
    }

    #[test]
    fn a_reply_without_a_value_is_an_object_of_its_content() {
        let blocks = vec![Block::text("a"), Block::image(vec![0, 255], "image/png")];
        let content = parsed(&mira().reply("other/tool", Reply::blocks(blocks)).unwrap());
        let expected = json!({"content": [
            {"type": "text", "text": "a"}, {"type": "image", "data": "AP8=", "mime": "image/png"}]});
        assert_eq!(content, expected);
    }

    #[test]
    fn a_tool_that_says_itself_that_it_failed_is_an_error() {
        let error = mira().reply("other/tool", Reply::failure("The disk is on fire.")).unwrap_err();
        assert_eq!((error.code, error.data), (-32603, Some(json!({"detail": "The disk is on fire."}))));
    }

    #[test]
    fn a_chunk_names_its_call_its_stream_and_its_place() {
        let note = parsed(&mira().chunk(&Id::from(&json!(7)), "stdout", 3, "line\n").unwrap());
        let params = json!({"id": 7, "stream": "stdout", "seq": 3, "chunk": "line\n"});
        assert_eq!(note, json!({"jsonrpc": "2.0", "method": "exec/stream", "params": params}));
    }

    fn decode(bytes: &[u8]) -> Option<Request> {
        mira().decode(bytes)
    }

    fn read(message: &Value) -> Option<Request> {
        decode(message.to_string().as_bytes())
    }

    fn rejected(message: impl AsRef<[u8]>) -> (Id, ErrorResponse) {
        match decode(message.as_ref()) {
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
        assert!(!mira().wants_chunks(&call), "there is nobody to stream to");
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

    fn search(params: &[u8]) -> Vec<u8> {
        [br#"{"jsonrpc":"2.0","id":5,"method":"vector/search","params":"#, params, b"}"].concat()
    }

    #[test]
    fn a_query_that_is_no_text_is_a_parse_error() {
        for (params, words) in [
            (b"{\"query\":\"caf\xe9\"}".as_slice(), "not UTF-8 (byte 71)"),
            // Half of a character, at the end and as an escape.
            (b"{\"query\":\"a\xf0\x9f\"}", "not UTF-8 (byte 69)"),
            (br#"{"query":"\ud800"}"#, "hex escape"),
            (b"{\"query\":\"a\nb\"}", "control character"),
        ] {
            let (id, error) = rejected(search(params));
            assert_eq!((error.code, &*error.message, id), (-32700, "Parse error", Id::null()), "{words}");
            let data = error.data.unwrap();
            assert!(data["detail"].as_str().unwrap().contains(words), "{data}");
        }
    }

    #[test]
    fn a_number_that_is_none_or_that_no_double_can_hold_is_a_parse_error() {
        let digits = "9".repeat(400);
        for number in ["1e999", "-1e999", &digits, "NaN", "Infinity", "-Infinity", "+1", ".5", "1.", "01", "0x1"] {
            for params in [format!(r#"{{"embedding":[0.5,{number}]}}"#), format!(r#"{{"query":"a","top_k":{number}}}"#)]
            {
                let (id, error) = rejected(search(params.as_bytes()));
                assert_eq!((error.code, &*error.message, id), (-32700, "Parse error", Id::null()), "{params}");
                assert!(!error.data.unwrap()["detail"].as_str().unwrap().is_empty(), "{params}");
            }
        }
        let held = decode(&search(br#"{"embedding":[1e308,-1E+30,1e-999,-0.0,18446744073709551616]}"#)).unwrap();
        let Operation::CallTool { args: Some(args), .. } = held.operation else { panic!("{held:?}") };
        let numbers: Vec<f64> = args["embedding"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert_eq!(numbers, [1e308, -1e30, 0.0, 0.0, 18_446_744_073_709_551_616.0]);
        mira().narrowed("vector/search").unwrap().check(&args).unwrap();
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
