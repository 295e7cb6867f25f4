//! One request to a server and its answer, sent plainly or as a stream of events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_wire::asking::{self, Heard};
use mainstay_wire::events;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Value, json};

use super::RemoteError;
use super::address::{is_loopback, shown, without_secrets};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The longest answer that is read.
pub(super) const LONGEST: usize = 64 * 1024 * 1024;

type Note<'a> = &'a mut (dyn FnMut(&str, &Value) + Send);

pub(super) struct Line {
    http: Client,
    url: Url,
    /// The URL as it may be printed.
    shown: String,
    token: Option<HeaderValue>,
    timeout: Duration,
    version: Option<String>,
    /// Every request says in its own `_meta` and headers what it is: there is no session to know it from.
    stateless: bool,
    session: std::sync::OnceLock<HeaderValue>,
    next_id: AtomicU64,
}

impl Line {
    pub(super) fn open(url: &str, token: Option<&str>, timeout: Duration) -> Result<Self, RemoteError> {
        let wrong = |reason: String| RemoteError::Url { url: without_secrets(url), reason };
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(wrong("only http and https are spoken".to_owned()));
        }
        let (shown, at_home) = (shown(&parsed), is_loopback(&parsed));
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(RemoteError::Userinfo { url: shown });
        }
        if token.is_some() && parsed.scheme() == "http" && !at_home {
            return Err(RemoteError::Unprotected { url: shown });
        }
        let bearer = |token: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"));
            if let Ok(value) = &mut value {
                value.set_sensitive(true);
            }
            value.map_err(|_| wrong("the token in MAINSTAY_TOKEN cannot be sent in a header".to_owned()))
        };
        let token = token.map(bearer).transpose()?;
        // A token is for the server it was given for, wherever that would send it on.
        let http = Client::builder().redirect(Policy::none()).timeout(timeout).connect_timeout(timeout);
        // A proxy does not know this machine under the names it has for itself.
        let http = if at_home { http.no_proxy() } else { http };
        let unbuilt = |error| RemoteError::Unreachable { url: shown.clone(), reason: reasons(&error) };
        let http = http.build().map_err(unbuilt)?;
        let (session, next_id) = (std::sync::OnceLock::new(), AtomicU64::new(1));
        Ok(Self { http, url: parsed, shown, token, timeout, version: None, stateless: false, session, next_id })
    }

    /// From now on every request names the version that was agreed on.
    pub(super) fn agree(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    /// From now on every request stands alone, in this version; or none does.
    pub(super) fn stand_alone(&mut self, version: Option<&str>) {
        self.version = version.map(str::to_owned);
        self.stateless = version.is_some();
    }

    /// The request as it is sent: where each stands alone, its body and its headers say what it is.
    fn request(&self, id: u64, method: &str, params: &Value) -> RequestBuilder {
        let Some(version) = self.version.as_ref().filter(|_| self.stateless) else {
            return self.post(asking::request(id, method, params));
        };
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": super::about(),
        });
        let request = self.post(asking::request(id, method, &params)).header("mcp-method", method);
        match params.get("name").and_then(Value::as_str) {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }

    /// Sends one request and waits for its result; what the server says meanwhile goes to `note`.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Value,
        idempotency_key: Option<&str>,
        note: Note<'_>,
    ) -> Result<Value, RemoteError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut request = self.request(id, method, params);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session.get_or_init(|| session.clone());
        }
        let status = response.status();
        let mut answer = Answer { id, outcome: None, note };
        self.read(response, &mut answer).await?;
        match answer.outcome {
            Some(Ok(result)) => Ok(result),
            Some(Err(fault)) => Err(RemoteError::Refused { url: self.shown.clone(), fault }),
            None if status.is_success() => Err(self.nonsense(&format!("there is no answer to {method}"))),
            None => Err(RemoteError::Status { url: self.shown.clone(), status: status.as_u16() }),
        }
    }

    /// Sends a notification, which is not answered.
    pub(super) async fn tell(&self, method: &str) -> Result<(), RemoteError> {
        let sent = self.post(asking::notification(method)).send().await;
        sent.map(|_| ()).map_err(|error| self.lost(&error))
    }

    pub(super) async fn close(&self) {
        if self.session.get().is_some() {
            let _ = self.addressed(self.http.delete(self.url.clone())).send().await;
        }
    }

    pub(super) fn nonsense(&self, what: &str) -> RemoteError {
        RemoteError::Nonsense { url: self.shown.clone(), what: what.to_owned() }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Waits for several requests, no longer than a few of them may take.
    pub(super) async fn within<T>(
        &self,
        times: u32,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        let limit = self.timeout.saturating_mul(times);
        let late = |_| Err(RemoteError::TimedOut { url: self.shown.clone(), seconds: limit.as_secs() });
        tokio::time::timeout(limit, work).await.unwrap_or_else(late)
    }

    fn post(&self, body: String) -> RequestBuilder {
        self.addressed(self.http.post(self.url.clone()))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body)
    }

    fn addressed(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(version) = &self.version {
            request = request.header(VERSION, version);
        }
        if let Some(session) = self.session.get() {
            request = request.header(SESSION, session);
        }
        request
    }

    async fn read(&self, mut response: Response, answer: &mut Answer<'_>) -> Result<(), RemoteError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let streamed = kind.starts_with("text/event-stream");
        let (mut whole, mut events) = (Vec::new(), events::Reader::default());
        while let Some(piece) = response.chunk().await.map_err(|error| self.lost(&error))? {
            if streamed {
                events.push(&piece).iter().for_each(|event| answer.hear(event));
                if answer.outcome.is_some() {
                    return Ok(());
                }
            } else {
                whole.extend_from_slice(&piece);
            }
            if whole.len() + events.held() > LONGEST {
                return Err(RemoteError::TooLong { url: self.shown.clone(), limit: LONGEST });
            }
        }
        answer.hear(&String::from_utf8_lossy(&whole));
        Ok(())
    }

    fn lost(&self, error: &reqwest::Error) -> RemoteError {
        let url = self.shown.clone();
        if error.is_timeout() {
            return RemoteError::TimedOut { url, seconds: self.timeout.as_secs() };
        }
        RemoteError::Unreachable { url, reason: reasons(error) }
    }
}

/// What has been heard of the answer to one request.
struct Answer<'a> {
    id: u64,
    outcome: Option<Result<Value, asking::Fault>>,
    note: Note<'a>,
}

impl Answer<'_> {
    fn hear(&mut self, message: &str) {
        match asking::hear(message) {
            // An error about a message that could not be read has no id, and there is only one message.
            Some(Heard::Answer { id, outcome })
                if self.outcome.is_none() && id.as_ref().map_or(outcome.is_err(), |id| *id == self.id) =>
            {
                self.outcome = Some(outcome);
            }
            Some(Heard::Note { method, params }) => (self.note)(&method, &params),
            Some(Heard::Answer { .. }) | None => {}
        }
    }
}

/// The innermost reason says most: "connection refused", not "error sending request".
fn reasons(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
