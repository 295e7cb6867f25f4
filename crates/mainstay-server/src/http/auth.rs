//! Authentication over HTTP: the token check of routes, and the responses to requests that fail it. Which tokens are
//! valid is decided in mainstay-auth.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::StreamExt as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE, FORWARDED, VIA, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mainstay_auth::{AuthError, Authenticator, url_origin};
use mainstay_core::Scope;
use serde_json::json;

use super::{body, body_memory};
use crate::connection::{Connection, Peer};
use crate::headers::single;

/// Where the protected resource metadata is (RFC 9728 section 3).
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// How often the token of a connection that stays open is verified again.
pub(crate) const RECHECK: Duration = Duration::from_secs(5);

/// Headers that a proxy adds. A client behind a proxy is not on this machine, although the connection is.
const PROXY_HEADERS: [HeaderName; 4] =
    [FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip"), VIA];

/// The value of `WWW-Authenticate` (RFC 6750 section 3). `error` is its `error` parameter and may be empty. Where a token
/// is required it has the metadata URL of RFC 9728, by which a client learns how to get one.
pub(crate) fn challenge(authenticator: &Authenticator, error: &str) -> String {
    let origin = url_origin(&authenticator.issuer().audience).unwrap_or_default();
    match (authenticator.requires_token(), error) {
        (false, _) => format!("Bearer {error}"),
        (true, "") => format!("Bearer resource_metadata=\"{origin}{METADATA_PATH}\""),
        (true, _) => format!("Bearer {error}, resource_metadata=\"{origin}{METADATA_PATH}\""),
    }
}

/// The response to a request that could not be authenticated.
fn reject(authenticator: &Authenticator, error: AuthError, peer: SocketAddr) -> Response {
    let error = match error {
        AuthError::MissingToken => "",
        AuthError::InvalidToken(reason) => {
            tracing::info!(reason, %peer, "an access token was rejected");
            "error=\"invalid_token\""
        }
        AuthError::Unavailable(error) => {
            tracing::error!(detail = error.detail, "an access token could not be verified");
            return body::problem(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", error.public);
        }
    };
    let description = "Send an access token for this server as a Bearer token.";
    let response = body::problem(StatusCode::UNAUTHORIZED, "unauthorized", description);
    ([(WWW_AUTHENTICATE, challenge(authenticator, error))], response).into_response()
}

/// The same response; if it is a stream, it ends when its token is no longer valid.
pub(crate) fn while_token_is_valid(
    authenticator: &Authenticator,
    token: Option<String>,
    response: Response,
) -> Response {
    let (Some(token), true) = (token, is_stream(&response)) else { return response };
    let authenticator = authenticator.clone();
    let ended = async move {
        while authenticator.is_still_valid(Some(&token)).await {
            tokio::time::sleep(RECHECK).await;
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))))
}

/// The token check of a route: adds the caller to the request, or rejects it. No handler behind it runs without a caller.
pub(crate) async fn identify(
    State(authenticator): State<Authenticator>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = match bearer(request.headers()) {
        Ok(None) if !authenticator.requires_token() && is_proxied(request.headers()) => {
            let description = "This request came through a proxy (it has a Forwarded, X-Forwarded-For, X-Real-IP or Via header). Without [server.auth], only clients on this machine may call. Set server.auth to serve others.";
            return body::problem(StatusCode::FORBIDDEN, "forbidden", description);
        }
        Ok(token) => authenticator.caller(token, Some(peer.address.ip())).await,
        Err(reason) => Err(AuthError::InvalidToken(reason)),
    };
    let caller = match caller {
        Ok(caller) => Arc::new(caller),
        Err(error) => return reject(&authenticator, error, peer.address),
    };
    peer.activity.identified(&caller.principal);
    if !body_memory::has_room(&peer.unsent, &caller.principal).await {
        let why = "Too much of your earlier responses has not been read yet (server.unsent_bytes). Read them first.";
        return body::unavailable(why);
    }
    let connection = Connection::new(caller, peer.lane);
    request.extensions_mut().insert(connection.clone());
    let response = next.run(request).await;
    match connection.missing_scope.scope() {
        // RFC 6750 section 3.1, whatever the dialect made of the error. The status of a stream is sent before its call
        // has an outcome.
        Some(scope) if !is_stream(&response) => {
            let error = format!("error=\"insufficient_scope\", scope=\"{}\"", scope.as_str());
            (StatusCode::FORBIDDEN, [(WWW_AUTHENTICATE, challenge(&authenticator, &error))], response).into_response()
        }
        Some(_) | None => response,
    }
}

/// Adds a token that the client sent in another place than the Authorization header. Whether it could be added: a header
/// cannot have every value.
pub(crate) fn set_bearer(headers: &mut HeaderMap, token: &str) -> bool {
    let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else { return false };
    // Keeps the token out of debug output of the headers.
    bearer.set_sensitive(true);
    headers.insert(AUTHORIZATION, bearer);
    true
}

fn is_proxied(headers: &HeaderMap) -> bool {
    PROXY_HEADERS.iter().any(|name| headers.contains_key(name))
}

/// The token in the Authorization header. One in the URL is ignored: URLs end up in logs.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    let Some(value) = single(headers, AUTHORIZATION)? else { return Ok(None) };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        Some(_) | None => Err("it is not a Bearer token"),
    }
}

fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The protected resource metadata of RFC 9728. There is none where no token is required.
pub(crate) async fn metadata(State(authenticator): State<Authenticator>) -> Response {
    if !authenticator.requires_token() {
        return body::problem(StatusCode::NOT_FOUND, "not_found", "This server requires no token.");
    }
    Json(json!({
        "resource": authenticator.issuer().audience,
        "authorization_servers": [authenticator.issuer().url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": Scope::ALL.map(Scope::as_str),
    }))
    .into_response()
}
