//! What the benchmark says and what it expects to hear: the same echo call in each server's words.

use anyhow::{Result, bail};
use memchr::memmem;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Stands where the call's number goes. Ids are always as long as this, so a request is built once and only its digits
/// change, and `Content-Length` with them stays true.
const PLACEHOLDER: &str = "##########";
pub(crate) const FIRST_ID: u64 = 1_000_000_000;

/// How a server is spoken to over HTTP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: each request stands alone and carries its `_meta`.
    Stateless,
    /// 2025-11-25: `initialize` first, then calls that name their session.
    Session,
}

/// The echo tool as one server calls it.
#[derive(Clone, Copy)]
pub(crate) struct Echo {
    pub(crate) tool: &'static str,
    pub(crate) argument: &'static str,
}

impl Echo {
    pub(crate) fn call(self, era: Era) -> String {
        let meta = match era {
            Era::Session => String::new(),
            Era::Stateless => format!(
                concat!(
                    r#","_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"bench-spine","version":"1"}},"#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}}}}"#
                ),
                MODERN
            ),
        };
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","#,
                r#""arguments":{{"{argument}":"call {id}, there and back"}}{meta}}}}}"#
            ),
            id = PLACEHOLDER,
            tool = self.tool,
            argument = self.argument,
            meta = meta,
        )
    }

    /// The whole HTTP request of a call.
    pub(crate) fn http_call(self, port: u16, era: Era, session: Option<&str>) -> Numbered {
        let headers = match era {
            Era::Stateless => {
                format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {}\r\n", self.tool)
            }
            Era::Session => legacy_headers(session),
        };
        Numbered::new(&http_post(port, &headers, &self.call(era)))
    }
}

pub(crate) fn initialize() -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","#,
            r#""capabilities":{{}},"clientInfo":{{"name":"bench-spine","version":"1"}}}}}}"#
        ),
        LEGACY
    )
}

pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub(crate) fn http_initialize(port: u16) -> String {
    http_post(port, "", &initialize())
}

pub(crate) fn http_initialized(port: u16, session: &str) -> String {
    http_post(port, &legacy_headers(Some(session)), INITIALIZED)
}

fn legacy_headers(session: Option<&str>) -> String {
    let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
    format!("MCP-Protocol-Version: {LEGACY}\r\n{session}")
}

fn http_post(port: u16, headers: &str, body: &str) -> String {
    format!(
        concat!(
            "POST /mcp HTTP/1.1\r\n",
            "Host: 127.0.0.1:{}\r\n",
            "Accept: application/json, text/event-stream\r\n",
            "Content-Type: application/json\r\n",
            "{}Content-Length: {}\r\n\r\n{}"
        ),
        port,
        headers,
        body.len(),
        body
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

fn digits(mut id: u64) -> [u8; PLACEHOLDER.len()] {
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

/// A wrong answer ends the benchmark: figures for anything but the echo mean nothing.
pub(crate) fn check_echo(reply: &[u8], id: u64) -> Result<()> {
    const SAID: &[u8] = b"call ##########";
    let mut said: [u8; SAID.len()] = *b"call ##########";
    said[SAID.len() - PLACEHOLDER.len()..].copy_from_slice(&digits(id));
    let right = answered_id(reply) == Some(id)
        && memmem::find(reply, &said).is_some()
        && memmem::find(reply, br#""isError":true"#).is_none();
    if right {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&reply[..reply.len().min(600)]);
    bail!("wrong answer to call {id}: {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: Echo = Echo { tool: "echo", argument: "text" };

    #[test]
    fn numbering_changes_the_digits_and_not_the_length() {
        let mut call = Numbered::new(&ECHO.call(Era::Stateless));
        let length = call.bytes.len();
        let text = String::from_utf8(call.with(1_000_000_042).to_vec()).unwrap();
        assert_eq!(text.len(), length);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["id"], 1_000_000_042_u64);
        assert_eq!(value["params"]["arguments"]["text"], "call 1000000042, there and back");
    }

    #[test]
    fn another_calls_echo_is_a_wrong_answer() {
        let reply = br#"{"result":{"content":[{"text":"call 1000000001, there"}]},"id":1000000001}"#;
        assert!(check_echo(reply, 1_000_000_001).is_ok());
        assert!(check_echo(reply, 1_000_000_002).is_err());
    }

    #[test]
    fn an_error_result_is_a_wrong_answer() {
        let reply = br#"{"id":1000000001,"result":{"isError":true,"content":[{"text":"call 1000000001"}]}}"#;
        assert!(check_echo(reply, 1_000_000_001).is_err());
    }
}
