//! The short way for the plainest of calls: a tool that says nothing on its way, called in a request without anything
//! out of the ordinary. Its reply is one JSON body, so no stream, no task and no peer has to be set up for it.
//!
//! This is no second reading of the protocol: whatever is not plain, and whatever is wrong, is left to the SDK.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, header};
use mainstay_core::{Call, CancellationToken, Pace, Target};
use mainstay_wire::{MAX_ID, to_json};
use rmcp::model::{CallToolResult, ClientCapabilities, ErrorData, Implementation, ProtocolVersion, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::connection::Connection;
use crate::headers::single;

use super::errand::{signed, tool_result};
use super::sink::Era;
use super::{Sessions, Shared, encode};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Meta<'a>,
}

/// A request that wants progress or a log has a field more, and with it takes the long way.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a str>,
    #[serde(default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<ClientCapabilities>,
    #[serde(default, rename = "io.modelcontextprotocol/clientInfo")]
    _client: Option<Implementation>,
    #[serde(default, rename = "io.mainstay/idempotencyKey")]
    idempotency_key: Option<String>,
}

impl<'a> Message<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let message: Self = serde_json::from_slice(bytes).ok()?;
        (message.jsonrpc == "2.0" && message.method == "tools/call").then_some(message)
    }
}

impl Meta<'_> {
    /// The protocol a request speaks: the newest if it says so in full, the older one if that was agreed on before.
    fn era(&self, agreed: bool) -> Option<Era> {
        match (self.version, &self.capabilities) {
            (Some(version), Some(_)) if version == ProtocolVersion::V_2026_07_28.as_str() => Some(Era::Stateless),
            (None, None) if agreed => Some(Era::Session),
            _ => None,
        }
    }
}

/// A plain call, ready to be made.
pub(crate) struct Plain {
    id: RequestId,
    era: Era,
    call: Call,
    connection: Connection,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Result { jsonrpc: &'static str, id: &'a RequestId, result: CallToolResult },
    Error { jsonrpc: &'static str, id: &'a RequestId, error: ErrorData },
}

impl Plain {
    /// The call, if this request to `/mcp` is plain in every respect.
    pub(crate) fn over_http(
        shared: &Shared,
        sessions: &Sessions,
        headers: &HeaderMap,
        connection: &Connection,
        body: &[u8],
    ) -> Option<Self> {
        if !takes_json(headers) {
            return None;
        }
        let message = Message::read(body)?;
        let session = single(headers, "mcp-session-id").ok()?;
        let era = match session {
            None if headers_agree(headers, &message.params.name)? => message.params.meta.era(false)?,
            Some(session) if older_version(headers)? && sessions.holds(session) => message.params.meta.era(true)?,
            None | Some(_) => return None,
        };
        // A request in a session that speaks the newest protocol besides contradicts itself.
        if session.is_some() != (era == Era::Session) {
            return None;
        }
        let key = single(headers, "idempotency-key").ok()?.map(str::to_owned);
        Self::make(shared, connection, message, era, session.map(Into::into), key)
    }

    /// The call, if this line is plain in every respect. `initialized` says whether the older protocol was agreed on.
    pub(crate) fn over_stdio(
        shared: &Shared,
        connection: &Connection,
        session: &Arc<str>,
        initialized: bool,
        line: &[u8],
    ) -> Option<Self> {
        let message = Message::read(line)?;
        let era = message.params.meta.era(initialized)?;
        Self::make(shared, connection, message, era, Some(session.clone()), None)
    }

    fn make(
        shared: &Shared,
        connection: &Connection,
        message: Message<'_>,
        era: Era,
        session: Option<Arc<str>>,
        key: Option<String>,
    ) -> Option<Self> {
        let Message { id, params, .. } = message;
        let id = plain_id(id)?;
        let args = params.arguments.map_or(Value::Null, Value::Object);
        // A call that is refused for its scope says nothing on its way either.
        if !is_silent(shared, &params.name) && shared.engine.permits(&connection.caller, &params.name, &args) {
            return None;
        }
        let mut call = Call::new(Target::Tool { name: params.name.into_owned(), args }, connection.caller.clone());
        call.session = session;
        call.idempotency_key = params.meta.idempotency_key.or(key);
        Some(Self { id, era, call, connection: connection.clone() })
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.call.cancel
    }

    /// Makes the call and writes the response.
    pub(crate) async fn answer(self, shared: &Arc<Shared>) -> std::io::Result<Vec<u8>> {
        let Self { id, era, call, connection } = self;
        let name = call.request_id.clone();
        let result = match shared.engine.call(call, &connection.lane).await {
            Ok(outcome) => tool_result(outcome),
            Err(error) => {
                connection.missing_scope.note(&error);
                encode::tool_error(error, era)
            }
        };
        let answer = match result {
            Ok(result) => {
                let mut result = signed(shared, era, result, &name);
                if era == Era::Session {
                    result.result_type = None;
                }
                Answer::Result { jsonrpc: "2.0", id: &id, result }
            }
            Err(error) => Answer::Error { jsonrpc: "2.0", id: &id, error },
        };
        to_json(&answer)
    }
}

/// Text or a whole number; `1.0` and `1e3`, and what is too long, are left to others to refuse.
fn plain_id(raw: &RawValue) -> Option<RequestId> {
    let text = raw.get();
    let whole = text.starts_with('"') || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if whole && text.len() <= MAX_ID { serde_json::from_str(text).ok() } else { None }
}

fn takes_json(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accept = text(header::ACCEPT);
    text(header::CONTENT_TYPE).starts_with("application/json")
        && accept.contains("application/json")
        && accept.contains("text/event-stream")
}

/// The headers of the newest protocol are all there and say what the body says.
fn headers_agree(headers: &HeaderMap, name: &str) -> Option<bool> {
    Some(
        single(headers, "mcp-protocol-version").ok()? == Some(ProtocolVersion::V_2026_07_28.as_str())
            && single(headers, "mcp-method").ok()? == Some("tools/call")
            && single(headers, "mcp-name").ok()? == Some(name)
            && !headers.keys().any(|header| header.as_str().starts_with("mcp-param-")),
    )
}

/// The version is one with sessions, or not named at all.
fn older_version(headers: &HeaderMap) -> Option<bool> {
    let mut older = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| version.has_initialize());
    let named = single(headers, "mcp-protocol-version").ok()?;
    Some(named.is_none_or(|named| older.any(|version| version.as_str() == named)))
}

/// A tool that neither reports nor asks, and whose arguments are not to be repeated in headers.
fn is_silent(shared: &Shared, name: &str) -> bool {
    let registry = shared.engine.registry();
    registry.tool(name).is_some_and(|tool| {
        let info = tool.info();
        info.pace == Pace::Instant && !shared.engine.asks_first(info) && !in_headers(&info.input_schema)
    })
}

fn in_headers(schema: &Map<String, Value>) -> bool {
    schema.contains_key("x-mcp-header")
        || schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| properties.values().filter_map(Value::as_object).any(in_headers))
}
