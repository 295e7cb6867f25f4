//! The dialect `mira` (contract 000): the method is the name of the tool, the params are its arguments, and the result is
//! its value, bare.
//!
//! The contract's schemas are in `contracts/mira/schemas` and are used as they are there.

mod contract;
mod decode;
mod errors;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::schema::Validator;
use mainstay_core::{DialectPolicy, Error, Reply, Result, ToolInfo};
use serde_json::{Value, json};

use crate::content::bare;
use crate::dialect::{Dialect, DialectEntry, Encoded, ToolQuery, ToolState};
use crate::error::ErrorResponse;
use crate::id::Id;
use crate::jsonrpc::{Message, Refusal};
use crate::request::Request;
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
        DialectPolicy { name: NAME, ..DialectPolicy::default() }
    }

    fn request(&self, message: Message) -> Option<Request> {
        decode::request(message)
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
        let error = Error::unknown(format!("There is no method {name:?}; tools/list names those there are."));
        errors::of_error(&error)
    }

    fn wants_chunks(&self, request: &Request) -> bool {
        decode::wants_chunks(request)
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
    use crate::jsonrpc;

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
            parsed(&jsonrpc::result(&Id::from(&json!("x")), &value)),
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
}
