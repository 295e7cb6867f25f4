//! JSON-RPC requests to one server over HTTP. A response is a JSON body or a stream of server-sent events.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_wire::client::{self as rpc, Fault, ServerMessage};
use mainstay_wire::sse;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Value, json};

use super::address::{is_loopback, without_secrets, without_secrets_in_text};
use super::error::RemoteError;

/// The header with the session's id, which the server assigns in its first response.
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The longest response, in bytes.
pub(super) const MAX_RESPONSE: usize = 64 * 1024 * 1024;

/// Receives the method and params of each notification that arrives before a result.
pub(super) type OnNotification<'a> = &'a mut (dyn FnMut(&str, &Value) + Send);

/// How the requests of a client refer to the protocol version.
pub(super) enum Version {
    /// Not agreed yet, or the dialect `mira`, which has no versions.
    None,
    /// Agreed in the handshake; each request names it in a header.
    Agreed(String),
    /// 2026-07-28: there is no handshake, and each request describes itself in `_meta` and headers.
    Stateless(&'static str),
}

/// Sends requests to one URL.
pub(super) struct HttpClient {
    http: Client,
    url: Url,
    /// The URL without secrets, for messages.
    pub(super) shown: String,
    token: Option<HeaderValue>,
    /// Of one request, connecting and reading included.
    timeout: Duration,
    pub(super) version: Version,
    /// Set by the first response that names one; later ones cannot change it.
    session: OnceLock<HeaderValue>,
    /// Ids are not reused within a client, so a late response cannot be taken for another one.
    next_id: AtomicU64,
}

impl HttpClient {
    /// Connects to nothing yet. Rejects URLs to which a token or password would be exposed.
    pub(super) fn new(url: &str, token: Option<&str>, timeout: Duration) -> Result<Self, RemoteError> {
        let invalid = |reason: String| RemoteError::Url { url: without_secrets_in_text(url), reason };
        let url = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("only http and https are supported".to_owned()));
        }
        let (shown, local) = (without_secrets(&url), is_loopback(&url));
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RemoteError::Userinfo { url: shown });
        }
        if token.is_some() && url.scheme() == "http" && !local {
            return Err(RemoteError::Unprotected { url: shown });
        }
        let bearer = |token: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"));
            if let Ok(value) = &mut value {
                value.set_sensitive(true);
            }
            value.map_err(|_| invalid("the token in MAINSTAY_TOKEN cannot be sent in a header".to_owned()))
        };
        let token = token.map(bearer).transpose()?;
        // A token is for the server it was given for, so a redirect is an error.
        let http = Client::builder().redirect(Policy::none()).timeout(timeout).connect_timeout(timeout);
        // For a proxy, `localhost` would be the proxy itself.
        let http = if local { http.no_proxy() } else { http };
        let failed = |error| RemoteError::Unreachable { url: shown.clone(), reason: innermost(&error) };
        let http = http.build().map_err(failed)?;
        let (session, next_id) = (OnceLock::new(), AtomicU64::new(1));
        Ok(Self { http, url, shown, token, timeout, version: Version::None, session, next_id })
    }

    /// Sends a request and returns its result.
    pub(super) async fn request(&self, method: &str, params: &Value) -> Result<Value, RemoteError> {
        self.call(method, params, None, &mut |_, _| {}).await
    }

    /// Sends a request with an idempotency key and returns its result; notifications that arrive before it are passed on.
    pub(super) async fn call(
        &self,
        method: &str,
        params: &Value,
        idempotency_key: Option<&str>,
        on_notification: OnNotification<'_>,
    ) -> Result<Value, RemoteError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut request = self.build(id, method, params);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        if let Some(session) = response.headers().get(SESSION) {
            // A server that could change it later could move the client into a session of its choice.
            self.session.get_or_init(|| session.clone());
        }
        let status = response.status();
        let mut pending = PendingResponse { id, outcome: None, on_notification };
        self.read(response, &mut pending).await?;
        match pending.outcome {
            Some(Ok(result)) => Ok(result),
            Some(Err(fault)) => Err(RemoteError::Rejected { url: self.shown.clone(), fault }),
            None if status.is_success() => Err(self.violation(&format!("there is no answer to {method}"))),
            None => Err(RemoteError::Status { url: self.shown.clone(), status: status.as_u16() }),
        }
    }

    /// Sends a notification, which has no response.
    pub(super) async fn notify(&self, method: &str) -> Result<(), RemoteError> {
        // The status is not looked at: a server that rejects this rejects the next request, and says more then.
        let sent = self.post(rpc::notification(method)).send().await;
        sent.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Ends the session, if the server opened one. Errors do not matter by then.
    pub(super) async fn close(&self) {
        if self.session.get().is_some() {
            let _ = self.with_headers(self.http.delete(self.url.clone())).send().await;
        }
    }

    /// An error that says what the server did wrong.
    pub(super) fn violation(&self, what: &str) -> RemoteError {
        RemoteError::Protocol { url: self.shown.clone(), what: what.to_owned() }
    }

    /// Limits the time of several requests together to that of `times` single ones.
    pub(super) async fn within<T>(
        &self,
        times: u32,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        let limit = self.timeout.saturating_mul(times);
        let late = |_| Err(RemoteError::TimedOut { url: self.shown.clone(), seconds: limit.as_secs() });
        tokio::time::timeout(limit, work).await.unwrap_or_else(late)
    }

    /// A request in the agreed version. The stateless one repeats the method and the tool's name in headers.
    fn build(&self, id: u64, method: &str, params: &Value) -> RequestBuilder {
        let Version::Stateless(version) = self.version else {
            return self.post(rpc::request(id, method, params));
        };
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": super::client_info(),
        });
        let request = self.post(rpc::request(id, method, &params)).header("mcp-method", method);
        match params.get("name").and_then(Value::as_str) {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }

    fn post(&self, body: String) -> RequestBuilder {
        self.with_headers(self.http.post(self.url.clone()))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body)
    }

    /// Adds token, version and session.
    fn with_headers(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        request = match &self.version {
            Version::None => request,
            Version::Agreed(version) => request.header(VERSION, version),
            Version::Stateless(version) => request.header(VERSION, *version),
        };
        match self.session.get() {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Reads a response up to the first answer to the request, within the size limit.
    /// A stream is not read to its end: some servers keep it open after the response.
    async fn read(&self, mut response: Response, pending: &mut PendingResponse<'_>) -> Result<(), RemoteError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let streamed = kind.starts_with("text/event-stream");
        let (mut whole, mut events) = (Vec::new(), sse::Reader::default());
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if streamed {
                events.push(&chunk).iter().for_each(|event| pending.receive(event));
                if pending.outcome.is_some() {
                    return Ok(());
                }
            } else {
                whole.extend_from_slice(&chunk);
            }
            // What is held counts, not what was received: a stream of many small events may run for long.
            if whole.len() + events.held() > MAX_RESPONSE {
                return Err(RemoteError::TooLong { url: self.shown.clone(), limit: MAX_RESPONSE });
            }
        }
        pending.receive(&String::from_utf8_lossy(&whole));
        Ok(())
    }

    /// A request that got no response.
    fn failed(&self, error: &reqwest::Error) -> RemoteError {
        let url = self.shown.clone();
        if error.is_timeout() {
            return RemoteError::TimedOut { url, seconds: self.timeout.as_secs() };
        }
        RemoteError::Unreachable { url, reason: innermost(error) }
    }
}

/// A request whose response is being read.
struct PendingResponse<'a> {
    id: u64,
    outcome: Option<Result<Value, Fault>>,
    on_notification: OnNotification<'a>,
}

impl PendingResponse<'_> {
    /// Takes one message. Only the first response with the request's id counts, and an error without an id: a server
    /// that could not read the request does not know its id.
    fn receive(&mut self, message: &str) {
        match rpc::parse_message(message) {
            Some(ServerMessage::Response { id, outcome })
                if self.outcome.is_none() && id.as_ref().map_or(outcome.is_err(), |id| *id == self.id) =>
            {
                self.outcome = Some(outcome);
            }
            Some(ServerMessage::Notification { method, params }) => (self.on_notification)(&method, &params),
            Some(ServerMessage::Response { .. }) | None => {}
        }
    }
}

/// The innermost reason of an error says most: "connection refused", not "error sending request".
fn innermost(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |source| source.source());
    sources.last().map_or_else(|| error.to_string(), ToString::to_string)
}
