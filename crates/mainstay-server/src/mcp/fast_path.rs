//! The fast path for plain tool calls, used by `/mcp` and by stdio.
//!
//! For each request the SDK sets up a peer, a service loop and several tasks, so that a call can report progress, ask
//! questions and be cancelled. A tool that does none of this ([`Pace::Instant`]) does not need them, and its reply is one
//! JSON message. [`PlainCall`] recognises such a request, makes the same engine call as [`super::invocation`] (gate,
//! policies and audit included), and writes the reply with the same encoder.
//!
//! It rejects nothing. A request with any unknown field, an unusual header, a progress token, an invalid id or a tool that
//! may ask for consent is not plain, and goes to the SDK, which alone decides what is wrong with it. So there is one
//! reading of the protocol, and removing this module would change nothing but the speed.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, header};
use mainstay_core::{Call, Pace, new_id};
use mainstay_wire::{MAX_ID, to_json};
use rmcp::model::{CallToolResult, ClientCapabilities, Implementation, JsonRpcMessage, ProtocolVersion, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::encode;
use super::handler::StdioClient;
use super::request::Era;
use super::sessions::Sessions;
use super::shared::Shared;
use crate::connection::Connection;
use crate::headers::{request_id, single};

// Looked up in every request: a name that is parsed already takes a fraction of the time of a text.
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A `tools/call` with no other fields than these. Borrowed from the body: parsing it allocates only the arguments.
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

/// A request for progress or log messages has another field here, and so is not plain.
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
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let message: Self = serde_json::from_slice(bytes).ok()?;
        (message.jsonrpc == "2.0" && message.method == "tools/call").then_some(message)
    }
}

impl Meta<'_> {
    /// The era of a request: stateless if it declares everything that 2026-07-28 wants, the older one if it declares
    /// nothing and the client has initialized (`initialized`).
    fn era(&self, initialized: bool) -> Option<Era> {
        match (self.version, &self.capabilities) {
            (Some(version), Some(_)) if version == ProtocolVersion::V_2026_07_28.as_str() => Some(Era::Stateless),
            (None, None) if initialized => Some(Era::Session),
            _ => None,
        }
    }
}

/// A plain call, ready to be made.
pub(crate) struct PlainCall {
    pub(crate) id: RequestId,
    era: Era,
    name: String,
    args: Value,
    pub(crate) call: Call,
    connection: Connection,
}

/// A response of JSON-RPC. The SDK's type for messages of a server would first convert the result to its union of all
/// results.
type Response = JsonRpcMessage<(), CallToolResult, ()>;

impl PlainCall {
    /// The call, if this request to `/mcp` is plain in every respect.
    pub(crate) fn over_http(
        shared: &Shared,
        sessions: &Sessions,
        headers: &HeaderMap,
        connection: &Connection,
        body: &[u8],
    ) -> Option<Self> {
        if !accepts_json(headers) {
            return None;
        }
        let message = Message::parse(body)?;
        let session = single(headers, SESSION_ID).ok()?;
        let era = match session {
            None if headers_match_body(headers, &message.params.name)? => message.params.meta.era(false)?,
            Some(session) if names_older_version(headers)? && sessions.touch(session) => {
                message.params.meta.era(true)?
            }
            None | Some(_) => return None,
        };
        // A stateless request inside a session contradicts itself.
        if session.is_some() != (era == Era::Session) {
            return None;
        }
        let key = single(headers, IDEMPOTENCY_KEY).ok()?.map(str::to_owned);
        let id = request_id(headers).unwrap_or_else(|| new_id().into());
        Self::new(shared, connection, message, era, session.map(Into::into), key, id)
    }

    /// The call, if this line is plain in every respect. `initialized` says whether the client has sent `initialize`.
    pub(crate) fn over_stdio(shared: &Shared, client: &StdioClient, initialized: bool, line: &[u8]) -> Option<Self> {
        let message = Message::parse(line)?;
        let era = message.params.meta.era(initialized)?;
        Self::new(shared, &client.connection, message, era, Some(client.session.clone()), None, new_id().into())
    }

    /// The last checks, which are the same on every transport.
    fn new(
        shared: &Shared,
        connection: &Connection,
        message: Message<'_>,
        era: Era,
        session: Option<Arc<str>>,
        key: Option<String>,
        request_id: Arc<str>,
    ) -> Option<Self> {
        // Nothing has been counted or recorded yet: a call that turns out not to be plain leaves no trace here.
        let Message { id, params, .. } = message;
        let id = plain_id(id)?;
        let args = params.arguments.map_or(Value::Null, Value::Object);
        // A call that will be rejected for its scope never runs, so whatever its tool does is plain as well.
        if !is_plain_call(shared, &params.name, &args) && shared.engine.permits(&connection.caller, &params.name, &args)
        {
            return None;
        }
        let mut call = Call::with_id(connection.caller.clone(), request_id);
        call.session = session;
        // The order of `Handler::idempotency_key`: `_meta` wins over the header.
        call.idempotency_key = params.meta.idempotency_key.or(key);
        Some(Self { id, era, name: params.name.into_owned(), args, call, connection: connection.clone() })
    }

    /// Makes the call and writes the response.
    pub(crate) async fn run(self, shared: &Arc<Shared>) -> std::io::Result<Vec<u8>> {
        let Self { id, era, name, args, call, connection } = self;
        let request_id = call.request_id.clone();
        let result = match shared.engine.call_tool(&name, args, call, &connection.lane).await {
            Ok(reply) => Ok(encode::reply(reply)),
            Err(error) => {
                connection.missing_scope.note(&error);
                encode::tool_error(error, era)
            }
        };
        let response = match result {
            Ok(result) => {
                let mut result = encode::with_request_id(shared, era, result, &request_id);
                // Versions before 2026-07-28 do not know this field.
                if era == Era::Session {
                    result.result_type = None;
                }
                Response::response(result, id)
            }
            Err(error) => Response::error(error, Some(id)),
        };
        to_json(&response)
    }
}

/// A string or an integer. `1.0`, `1e3` and ids that are too long are left to the SDK path to reject.
fn plain_id(raw: &RawValue) -> Option<RequestId> {
    let text = raw.get();
    // A request that is answered under an id spelled differently would not be recognised by its client.
    let whole = text.starts_with('"') || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if whole && text.len() <= MAX_ID { serde_json::from_str(text).ok() } else { None }
}

/// Whether the content negotiation is the usual one: the protocol wants clients to accept both kinds of response.
fn accepts_json(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // What differs from that may still be valid, and is for the SDK to judge.
    let accept = text(header::ACCEPT);
    text(header::CONTENT_TYPE).starts_with("application/json")
        && accept.contains("application/json")
        && accept.contains("text/event-stream")
}

/// Whether the headers that 2026-07-28 requires are all there and agree with the body.
fn headers_match_body(headers: &HeaderMap, name: &str) -> Option<bool> {
    Some(
        single(headers, VERSION).ok()? == Some(ProtocolVersion::V_2026_07_28.as_str())
            && single(headers, METHOD).ok()? == Some("tools/call")
            && single(headers, NAME).ok()? == Some(name)
            && !headers.keys().any(|header| header.as_str().starts_with("mcp-param-")),
    )
}

/// Whether the version header names a version with sessions, or is absent.
fn names_older_version(headers: &HeaderMap) -> Option<bool> {
    let mut older = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| version.has_initialize());
    let named = single(headers, VERSION).ok()?;
    Some(named.is_none_or(|named| older.any(|version| version.as_str() == named)))
}

/// A call of a tool that neither reports nor asks, and none of whose arguments has to be repeated in a header.
fn is_plain_call(shared: &Shared, name: &str, args: &Value) -> bool {
    let registry = shared.engine.registry();
    registry.tool(name).is_some_and(|tool| {
        let info = tool.info();
        info.pace == Pace::Instant && !shared.engine.asks_first(info, args) && !info.has_header_arguments
    })
}
