//! `/mcp`, the endpoint of the standard protocol. Checks the size and the JSON-RPC frame of each request before the SDK's
//! service reads it, serves plain calls on the fast path, and ends sessions.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, Method, StatusCode};
use http_body_util::Full;
use mainstay_auth::Authenticator;
use mainstay_core::CancellationToken;
use mainstay_wire::jsonrpc::{self, Refusal};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::auth;
use super::body::{self, Rejection};
use crate::ServerSettings;
use crate::connection::Connection;
use crate::mcp::{CALLER, Handler, PlainCall, SessionRows, Sessions, Shared};

pub(crate) const PATH: &str = "/mcp";

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The endpoint's parts: the SDK's service, and what the fast path and the ending of sessions need.
pub(crate) struct Endpoint {
    shared: Arc<Shared>,
    service: StreamableHttpService<Handler, Sessions>,
    sessions: Arc<Sessions>,
    message_bytes: usize,
    authenticator: Authenticator,
}

impl Endpoint {
    pub(crate) fn new(
        shared: Arc<Shared>,
        settings: &ServerSettings,
        authenticator: Authenticator,
        open: CancellationToken,
    ) -> Self {
        let idle = Duration::from_secs(settings.session_idle_seconds);
        let sessions = Arc::new(Sessions::new(shared.engine.clone(), settings.sessions, idle));
        // Idle sessions leave memory, once a minute for as long as the listener is open.
        let (unloaded, while_open) = (sessions.clone(), open.clone());
        tokio::spawn(async move {
            let mut every = tokio::time::interval(Duration::from_mins(1));
            while while_open.run_until_cancelled(every.tick()).await.is_some() {
                unloaded.unload_idle().await;
            }
        });
        let mut config = StreamableHttpServerConfig::default()
            // Host and Origin are checked for every route alike, before this one is reached.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            // A reply without notifications before it is plain JSON instead of a stream of one event.
            .with_json_response(true)
            .with_max_request_body_bytes(settings.message_bytes)
            .with_cancellation_token(open);
        config.session_store = Some(Arc::new(SessionRows(shared.engine.clone())));
        let handler = shared.clone();
        let service =
            StreamableHttpService::new(move || Ok(Handler::over_http(handler.clone())), sessions.clone(), config);
        Self { shared, service, sessions, message_bytes: settings.message_bytes, authenticator }
    }

    /// Checks a request and hands it to the fast path or to the SDK.
    async fn answer(&self, connection: &Connection, request: Request) -> Result<Response, Rejection> {
        let (parts, body) = request.into_parts();
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
        if parts.method == Method::DELETE
            && let Some(id) = session
        {
            return Ok(self.end_session(id).await);
        }
        // GET opens or resumes a stream and has no body that matters.
        if parts.method != Method::POST {
            return Ok(self.service.handle(Request::from_parts(parts, Full::<Bytes>::default())).await.map(Body::new));
        }
        let too_long = |refusal: &Refusal| body::json(StatusCode::PAYLOAD_TOO_LARGE, refusal.to_json());
        let bytes = body::read(body, self.message_bytes, too_long).await?;
        if let Some(call) = PlainCall::over_http(&self.shared, &self.sessions, &parts.headers, connection, &bytes) {
            return Ok(call.run(&self.shared).await.map_or_else(
                |error| {
                    tracing::error!(%error, "cannot serialize a response");
                    let why = "The response could not be written; the server's log has the details.";
                    body::problem(StatusCode::INTERNAL_SERVER_ERROR, "server_error", why)
                },
                |body| body::json(StatusCode::OK, body),
            ));
        }
        // Checked before the SDK reads it, so that a malformed message gets the same JSON-RPC error on every transport.
        Ok(match jsonrpc::inspect(&bytes) {
            Err(refusal) => body::json(StatusCode::BAD_REQUEST, refusal.to_json()),
            Ok(_) => self.service.handle(Request::from_parts(parts, Full::new(bytes))).await.map(Body::new),
        })
    }

    /// `DELETE` ends a session in memory and in the store, on whichever replica it arrives. A session of another principal
    /// does not exist.
    async fn end_session(&self, id: &str) -> Response {
        match self.sessions.end(id).await {
            Ok(true) => StatusCode::NO_CONTENT.into_response(),
            Ok(false) => (StatusCode::NOT_FOUND, "Not Found: there is no such session\n").into_response(),
            Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.public.into_owned()).into_response(),
        }
    }
}

/// The handler of the route. The SDK's session manager finds the caller in the task-local variable.
pub(crate) async fn serve(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, Rejection> {
    let token = auth::bearer(request.headers()).ok().flatten().map(str::to_owned);
    let response = CALLER.scope(connection.caller.clone(), endpoint.answer(&connection, request)).await?;
    Ok(auth::while_token_is_valid(&endpoint.authenticator, token, response))
}
