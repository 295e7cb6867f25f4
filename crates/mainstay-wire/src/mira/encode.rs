//! From what came of a call to the contract's messages.

use mainstay_core::Reply;
use serde_json::{Value, json};

use super::Fault;
use crate::content::bare;
use crate::{Id, jsonrpc};

pub fn result(id: &Id, result: &Value) -> String {
    jsonrpc::result(id, result)
}

pub fn failure(id: &Id, fault: &Fault) -> String {
    jsonrpc::failure(id, &json!({"code": fault.code, "message": fault.message, "data": fault.data}))
}

/// A piece of output of the call with this id. Pieces are counted over both streams, so their order can be restored.
pub fn chunk(id: &Id, stream: &str, seq: u64, text: &str) -> String {
    let (stream, chunk) = (Value::from(stream), Value::from(text));
    let params = format!(r#"{{"id":{id},"stream":{stream},"seq":{seq},"chunk":{chunk}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"exec/stream","params":{params}}}"#)
}

/// The value of a reply, bare. A reply that is only content becomes an object that holds it.
pub fn reply(reply: Reply) -> Result<Value, Fault> {
    if reply.failed {
        return Err(Fault::failed(&reply));
    }
    Ok(bare(reply))
}

#[cfg(test)]
mod tests {
    use mainstay_core::Block;

    use super::*;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_value_is_the_whole_result() {
        let value = reply(Reply::structured(json!({"path": "a", "size": 1}))).unwrap();
        assert_eq!(
            parsed(&result(&Id::from(&json!("x")), &value)),
            json!({"jsonrpc": "2.0", "id": "x", "result": {"path": "a", "size": 1}})
        );
    }

    #[test]
    fn a_reply_without_a_value_is_an_object_of_its_content() {
        let blocks = vec![Block::text("a"), Block::image(vec![0, 255], "image/png")];
        let content = reply(Reply::blocks(blocks)).unwrap();
        let expected = json!({"content": [
            {"type": "text", "text": "a"}, {"type": "image", "data": "AP8=", "mime": "image/png"}]});
        assert_eq!(content, expected);
    }

    #[test]
    fn a_tool_that_says_itself_that_it_failed_is_an_error() {
        let fault = reply(Reply::failure("The disk is on fire.")).unwrap_err();
        assert_eq!((fault.code, &fault.data), (-32603, &json!({"detail": "The disk is on fire."})));
    }

    #[test]
    fn a_chunk_names_its_call_its_stream_and_its_place() {
        let note = parsed(&chunk(&Id::from(&json!(7)), "stdout", 3, "line\n"));
        let params = json!({"id": 7, "stream": "stdout", "seq": 3, "chunk": "line\n"});
        assert_eq!(note, json!({"jsonrpc": "2.0", "method": "exec/stream", "params": params}));
    }
}
