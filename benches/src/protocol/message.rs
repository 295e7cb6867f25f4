//! What the benchmark says and what it expects to hear: the same echo call in each server's words.

use anyhow::{Context, Result, bail};
use memchr::memmem;

use crate::bench_support::http_load::{Connection, Request};
use crate::bench_support::message::{
    INITIALIZED, LEGACY, Numbered, PLACEHOLDER, answered_id, digits, initialize, shown,
};

pub(crate) const MODERN: &str = "2026-07-28";

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
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"#,
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
    pub(crate) fn http_call(self, port: u16, era: Era, session: Option<&str>) -> EchoRequest {
        let headers = match era {
            Era::Stateless => {
                format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {}\r\n", self.tool)
            }
            Era::Session => legacy_headers(session),
        };
        EchoRequest(Numbered::new(&http_post(port, &headers, &self.call(era))))
    }
}

/// An echo call over HTTP.
pub(crate) struct EchoRequest(Numbered);

impl Request for EchoRequest {
    fn with(&mut self, id: u64) -> &[u8] {
        self.0.with(id)
    }

    fn check(&self, body: &[u8], id: u64) -> Result<()> {
        check_echo(body, id)
    }
}

/// Opens a session of the old era and returns its id.
pub(crate) async fn open_session(connection: &mut Connection, port: u16) -> Result<String> {
    let session = connection.header_of_reply(&http_post(port, "", &initialize()), "mcp-session-id").await?;
    let session = session.context("the answer to initialize names no session")?;
    connection.header_of_reply(&http_post(port, &legacy_headers(Some(&session)), INITIALIZED), "content-type").await?;
    Ok(session)
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
    bail!("wrong answer to call {id}: {}", shown(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: Echo = Echo { tool: "echo", argument: "text" };

    #[test]
    fn a_call_says_its_number_twice() {
        let mut call = Numbered::new(&ECHO.call(Era::Stateless));
        let value: serde_json::Value = serde_json::from_slice(call.with(1_000_000_042)).unwrap();
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
