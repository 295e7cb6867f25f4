//! What is the same in every server's words: the handshake, numbered calls, and the number a reply answers.

use memchr::memmem;

/// The older protocol: `initialize` first, then calls.
pub(crate) const LEGACY: &str = "2025-11-25";

/// Stands where the call's number goes. Ids are always as long as this, so a request is built once and only its digits
/// change, and `Content-Length` with them stays true.
pub(crate) const PLACEHOLDER: &str = "##########";
pub(crate) const FIRST_ID: u64 = 1_000_000_000;

pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub(crate) fn initialize() -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","#,
            r#""capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}"#
        ),
        LEGACY
    )
}

/// A call of a tool in the older protocol, its id left open.
pub(crate) fn tool_call(tool: &str, arguments: &serde_json::Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{PLACEHOLDER},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// Bytes in which only the number of the call changes from one use to the next.
#[derive(Clone)]
pub(crate) struct Numbered {
    bytes: Vec<u8>,
    at: Vec<usize>,
}

impl Numbered {
    pub(crate) fn new(template: &str) -> Self {
        let at = memmem::find_iter(template.as_bytes(), PLACEHOLDER).collect();
        Self { bytes: template.as_bytes().to_vec(), at }
    }

    pub(crate) fn with(&mut self, id: u64) -> &[u8] {
        let digits = digits(id);
        for &at in &self.at {
            self.bytes[at..at + digits.len()].copy_from_slice(&digits);
        }
        &self.bytes
    }
}

pub(crate) fn digits(mut id: u64) -> [u8; PLACEHOLDER.len()] {
    let mut digits = [b'0'; PLACEHOLDER.len()];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(id % 10).unwrap_or(0);
        id /= 10;
    }
    digits
}

/// Reads the number a reply answers, or `None` for a message that answers nothing (a notification on the way).
pub(crate) fn answered_id(reply: &[u8]) -> Option<u64> {
    let at = memmem::find(reply, br#""id":"#)? + br#""id":"#.len();
    let digits = reply[at..].iter().take_while(|byte| byte.is_ascii_digit());
    let id = digits.fold(0_u64, |id, digit| id.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
    (id >= FIRST_ID).then_some(id)
}

/// The beginning of a reply, enough of it for an error to show what was wrong.
pub(crate) fn shown(reply: &[u8]) -> String {
    String::from_utf8_lossy(&reply[..reply.len().min(600)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbering_changes_the_digits_and_not_the_length() {
        let template = tool_call("echo", &serde_json::json!({ "text": format!("call {PLACEHOLDER}") }));
        let mut call = Numbered::new(&template);
        let text = String::from_utf8(call.with(1_000_000_042).to_vec()).unwrap();
        assert_eq!(text.len(), template.len());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["id"], 1_000_000_042_u64);
        assert_eq!(value["params"]["arguments"]["text"], "call 1000000042");
    }

    #[test]
    fn a_notification_answers_nothing() {
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","method":"notifications/message"}"#), None);
        assert_eq!(answered_id(br#"{"result":{},"jsonrpc":"2.0","id":1000000007}"#), Some(1_000_000_007));
    }
}
