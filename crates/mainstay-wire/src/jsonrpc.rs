//! JSON-RPC 2.0 framing, shared by all dialects and the standard endpoint.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::id::{Id, Numbers};

/// Deeper messages are refused before anything recursive looks at them.
pub const MAX_DEPTH: usize = 128;

pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;

/// A message whose frame is sound. What is inside is for the dialect to judge.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    Request {
        method: Cow<'a, str>,
    },
    Notification {
        method: Cow<'a, str>,
    },
    /// The peer's answer to something we asked.
    Answer,
}

/// A request or a notification, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Text or a number; a notification has none.
    pub id: Option<Id>,
    pub method: String,
    /// An object or an array, where there were any.
    pub params: Option<Value>,
}

/// The params, for a method to which none are as good as empty ones.
pub(crate) fn or_empty(params: Option<Value>) -> Value {
    params.unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

/// Why bytes are not a message, with the id to answer under where it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: i32,
    pub message: Cow<'static, str>,
    pub id: Id,
}

impl Refusal {
    fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: PARSE_ERROR, message: message.into(), id: Id::null() }
    }

    fn invalid(id: Id, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: INVALID_REQUEST, message: message.into(), id }
    }

    /// A message longer than the transport takes; it was not read to its end.
    pub fn too_long(limit: usize) -> Self {
        Self::too_long_with_id(limit, Id::null())
    }

    /// The same where its id was seen all the same.
    pub fn too_long_with_id(limit: usize, id: Id) -> Self {
        Self::invalid(id, format!("Invalid Request: the message is longer than {limit} bytes"))
    }

    /// The error as a response, ready to be written.
    pub fn to_json(&self) -> String {
        let error = json!({"code": self.code, "message": self.message});
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.id)
    }
}

/// A response with this JSON text as its result. The text is moved and not copied: it may be many megabytes.
pub fn result(id: &Id, mut result: Vec<u8>) -> Vec<u8> {
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    // With room for the newline that ends the line on stdio: growing a vector doubles it.
    result.reserve_exact(head.len() + 2);
    result.splice(0..0, head.into_bytes());
    result.push(b'}');
    result
}

/// The id of what looks like a request, for a response that is made before the request is decoded.
pub fn id_of(bytes: &[u8]) -> Id {
    open(bytes).ok().and_then(|envelope| envelope.id(Numbers::Any).ok().flatten()).unwrap_or_else(Id::null)
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from absence: a null id is wrong, no id is a notification.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Judges the frame of one message of the standard, whose ids are text or whole numbers.
pub fn inspect(bytes: &[u8]) -> Result<Frame<'_>, Refusal> {
    open(bytes)?.judge(Numbers::Whole).map(|(frame, _)| frame)
}

/// Takes one message apart, whatever number its id is; nothing for the peer's answer to something we asked.
pub fn read(bytes: &[u8]) -> Result<Option<Message>, Refusal> {
    let envelope = open(bytes)?;
    let params = envelope.params;
    let (frame, id) = envelope.judge(Numbers::Any)?;
    let method = match frame {
        Frame::Request { method } | Frame::Notification { method } => method.into_owned(),
        Frame::Answer => return Ok(None),
    };
    let params = match params.map(|raw| serde_json::from_str(raw.get())).transpose() {
        Ok(None | Some(Value::Null)) => None,
        Ok(params) => params,
        Err(error) => return Err(parse_refusal(&error)),
    };
    Ok(Some(Message { id, method, params }))
}

/// Checks encoding, depth and outer form before anything recursive parses the text.
fn open(bytes: &[u8]) -> Result<Envelope<'_>, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Refusal::parse(format!("Parse error: the message is not UTF-8 (byte {})", error.valid_up_to()))
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Refusal::parse("Parse error: the message begins with a byte order mark; send UTF-8 without one"));
    }
    if depth(text) > MAX_DEPTH {
        return Err(Refusal::parse(format!("Parse error: the message is nested deeper than {MAX_DEPTH} levels")));
    }
    match text.trim_start().as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => return Err(not_an_object(text, "batches are not supported; send each message by itself")),
        _ => return Err(not_an_object(text, "a message is a JSON object")),
    }
    serde_json::from_str(text).map_err(|error| parse_refusal(&error))
}

/// The refusal of a request whose frame is sound but whose params cannot be read as its method's.
pub fn malformed_params(bytes: &[u8], method: &str) -> Refusal {
    let id = serde_json::from_slice::<Envelope<'_>>(bytes).ok().and_then(|envelope| envelope.id(Numbers::Whole).ok());
    Refusal {
        code: INVALID_PARAMS,
        message: format!("Invalid params: the params of {method} are not of its shape").into(),
        id: id.flatten().unwrap_or_else(Id::null),
    }
}

fn not_an_object(text: &str, reason: &'static str) -> Refusal {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Refusal::invalid(Id::null(), format!("Invalid Request: {reason}")),
        Err(error) => parse_refusal(&error),
    }
}

/// Sound JSON of the wrong shape is an invalid request; anything else is a parse error.
fn parse_refusal(error: &serde_json::Error) -> Refusal {
    if error.is_data() {
        return Refusal::invalid(Id::null(), format!("Invalid Request: {error}"));
    }
    Refusal::parse(format!("Parse error: {error}"))
}

impl<'a> Envelope<'a> {
    /// The frame and the id, or why this is no message. The id is echoed in the error where it can be read.
    fn judge(self, numbers: Numbers) -> Result<(Frame<'a>, Option<Id>), Refusal> {
        let id = self.id(numbers);
        let invalid = |reason: &'static str| {
            let id = id.clone().ok().flatten().unwrap_or_else(Id::null);
            Err(Refusal::invalid(id, format!("Invalid Request: {reason}")))
        };
        let is_ours =
            |version: &RawValue| serde_json::from_str::<Cow<'_, str>>(version.get()).is_ok_and(|text| text == "2.0");
        if !self.jsonrpc.is_some_and(is_ours) {
            return invalid("\"jsonrpc\" must be \"2.0\"");
        }
        if let Err(reason) = id {
            return invalid(reason);
        }
        if self.params.is_some_and(|params| !matches!(params.get().as_bytes().first(), Some(b'{' | b'[' | b'n'))) {
            return invalid("\"params\" must be an object");
        }
        let frame = match self.method {
            Some(method) => {
                let Ok(method) = serde_json::from_str::<Cow<'a, str>>(method.get()) else {
                    return invalid("\"method\" must be a string");
                };
                if self.id.is_some() { Frame::Request { method } } else { Frame::Notification { method } }
            }
            None if self.id.is_some() && self.result.is_some() != self.error.is_some() => Frame::Answer,
            // An error about a message whose id could not be read comes without one.
            None if self.id.is_none() && self.error.is_some() && self.result.is_none() => Frame::Answer,
            None => {
                return invalid("a message has a \"method\", or an \"id\" with a \"result\" or an \"error\"");
            }
        };
        Ok((frame, id.ok().flatten()))
    }

    fn id(&self, numbers: Numbers) -> Result<Option<Id>, &'static str> {
        self.id.map(|raw| Id::read(raw, numbers)).transpose()
    }
}

/// How deep brackets go, strings aside. Cheap, and safe on text that is no JSON at all.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i32, Value) {
        let refusal = inspect(text.as_bytes()).unwrap_err();
        let answer: Value = serde_json::from_str(&refusal.to_json()).unwrap();
        (refusal.code, answer["id"].clone())
    }

    #[test]
    fn sound_frames_are_told_apart() {
        let frame = |text: &'static str| inspect(text.as_bytes()).unwrap();
        assert_eq!(frame(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#), Frame::Request { method: "a".into() });
        assert_eq!(frame(r#"{"jsonrpc":"2.0","id":"x","method":"a\/b"}"#), Frame::Request { method: "a/b".into() });
        assert_eq!(frame(r#" {"jsonrpc":"2.0","method":"n","params":{}}"#), Frame::Notification { method: "n".into() });
        assert_eq!(frame(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Frame::Answer);
        assert_eq!(frame(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#), Frame::Answer);
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_with_a_null_id() {
        for text in ["", "hello", "{", r#"{"jsonrpc":"2.0","id":1,"method":"a""#, "{]", "[1,", "\u{0}", r#"{"a":}"#] {
            assert_eq!(refused(text), (PARSE_ERROR, Value::Null), "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_named_in_the_parse_error() {
        let refused = inspect("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}".as_bytes()).unwrap_err();
        assert_eq!((refused.code, refused.id.to_string().as_str()), (PARSE_ERROR, "null"));
        assert!(refused.message.contains("byte order mark"), "{}", refused.message);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_a_parse_error() {
        assert_eq!(inspect(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").unwrap_err().code, PARSE_ERROR);
    }

    #[test]
    fn what_is_json_but_no_message_is_an_invalid_request() {
        for text in [
            "1",
            "null",
            "\"x\"",
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#,
            "{}",
            r#"{"id":null,"method":"a","jsonrpc":"2.0"}"#,
        ] {
            assert_eq!(refused(text), (INVALID_REQUEST, Value::Null), "{text}");
        }
    }

    #[test]
    fn the_id_is_echoed_where_it_can_be_read() {
        for text in [
            r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#,
            r#"{"id":7,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":"x"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{}}"#,
        ] {
            assert_eq!(refused(text), (INVALID_REQUEST, json!(7)), "{text}");
        }
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#), (INVALID_REQUEST, Value::Null));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#), (INVALID_REQUEST, Value::Null));
    }

    #[test]
    fn an_id_that_is_too_long_is_not_echoed() {
        let text = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"a"}}"#, "x".repeat(1025));
        assert_eq!(refused(&text), (INVALID_REQUEST, Value::Null));
        assert_eq!(read(text.as_bytes()).unwrap_err().to_json(), inspect(text.as_bytes()).unwrap_err().to_json());
    }

    #[test]
    fn a_dialect_reads_every_number_as_an_id_and_echoes_it_as_it_was_written() {
        for id in ["1.5", "1e3", "9223372036854775808", "-0"] {
            let read = |version: &str| read(format!(r#"{{"jsonrpc":"{version}","id":{id},"method":"m"}}"#).as_bytes());
            assert_eq!(read("2.0").unwrap().unwrap().id.unwrap().to_string(), id);
            assert!(read("1.0").unwrap_err().to_json().contains(&format!("\"id\":{id},")), "{id}");
        }
    }

    #[test]
    fn a_message_is_taken_apart() {
        let read = |text: &str| read(text.as_bytes()).unwrap();
        let whole = read(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1]}}"#).unwrap();
        assert_eq!(
            (whole.id, whole.method.as_str(), whole.params),
            (Some(Id::from(&json!("a"))), "m", Some(json!({"x": [1]})))
        );
        for bare in [r#"{"jsonrpc":"2.0","method":"m"}"#, r#"{"jsonrpc":"2.0","method":"m","params":null}"#] {
            assert_eq!(read(bare), Some(Message { id: None, method: "m".into(), params: None }));
        }
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!((or_empty(None), or_empty(Some(json!([1])))), (json!({}), json!([1])));
    }

    #[test]
    fn deep_nesting_is_refused_and_brackets_in_strings_are_not_nesting() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{}{}}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(refused(&deep), (PARSE_ERROR, Value::Null));
        let flat = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":"{}\"["}}}}"#, "[".repeat(1000));
        assert!(inspect(flat.as_bytes()).is_ok());
    }
}
