//! The authorization server over HTTP: token and revocation endpoints, keys and metadata. It issues and revokes in
//! `mainstay_auth::oauth`.

mod request;

use std::net::IpAddr;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use mainstay_auth::Authenticator;
use mainstay_auth::oauth::{
    ACCESS_LIFETIME, AuthorizationServer, ClientCredentials, Grant, OAuthError, OAuthErrorKind,
};
use mainstay_core::Scope;
use serde_json::{Value, json};

use super::body::{self, Rejection};
use crate::connection::Peer;

use request::Parameters;

pub(crate) const TOKEN_PATH: &str = "/oauth/token";
pub(crate) const REVOKE_PATH: &str = "/oauth/revoke";
pub(crate) const KEYS_PATH: &str = "/oauth/jwks";

/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// `POST /oauth/token` (RFC 6749 sections 4.4, 5.1 and 6).
pub(crate) async fn token(State(authenticator): State<Authenticator>, request: Request) -> Result<Response, Rejection> {
    let server = server(&authenticator)?;
    let issued = async {
        let (mut parameters, ip) = receive(request).await?;
        let grant = grant(server, &mut parameters)?;
        let issued = server.grant(credentials(parameters)?, grant, ip).await?;
        Ok(json!({
            "access_token": issued.access_token,
            "token_type": "Bearer",
            "expires_in": ACCESS_LIFETIME.as_secs(),
            "scope": issued.scopes.to_string(),
            "refresh_token": issued.refresh_token,
        }))
    };
    Ok(uncached(issued.await))
}

/// `POST /oauth/revoke` (RFC 7009). Revoking an unknown token succeeds.
pub(crate) async fn revoke(
    State(authenticator): State<Authenticator>,
    request: Request,
) -> Result<Response, Rejection> {
    let server = server(&authenticator)?;
    let revoked = async {
        let (mut parameters, ip) = receive(request).await?;
        let token = parameters.token.take().ok_or_else(|| missing("token"))?;
        server.revoke(credentials(parameters)?, &token, ip).await?;
        Ok(json!({}))
    };
    Ok(uncached(revoked.await))
}

/// `GET /oauth/jwks`: the public keys (RFC 7517).
pub(crate) async fn keys(State(authenticator): State<Authenticator>) -> Result<Response, Rejection> {
    let keys = server(&authenticator)?.public_keys().await.map_err(OAuthError::from)?;
    Ok(([(CACHE_CONTROL, "public, max-age=300")], Json(keys)).into_response())
}

/// The authorization server metadata of RFC 8414.
pub(crate) async fn metadata(State(authenticator): State<Authenticator>) -> Result<Json<Value>, Rejection> {
    let issuer = &server(&authenticator)?.issuer().url;
    let methods = ["client_secret_basic", "client_secret_post"];
    Ok(Json(json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}{TOKEN_PATH}"),
        "revocation_endpoint": format!("{issuer}{REVOKE_PATH}"),
        "jwks_uri": format!("{issuer}{KEYS_PATH}"),
        "grant_types_supported": ["client_credentials", "refresh_token"],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "scopes_supported": Scope::ALL.map(Scope::as_str),
    })))
}

/// This server's own authorization server. There is none if tokens come from another issuer.
fn server(authenticator: &Authenticator) -> Result<&AuthorizationServer, Rejection> {
    let message = "This server does not issue tokens. Its protected resource metadata names the server that does.";
    let not_here = || body::problem(StatusCode::NOT_FOUND, "not_found", message).into();
    authenticator.authorization_server().ok_or_else(not_here)
}

/// Reads the parameters, and the address they come from.
async fn receive(request: Request) -> Result<(Parameters, Option<IpAddr>), Rejection> {
    let (parts, body) = request.into_parts();
    let ip = parts.extensions.get::<Peer>().map(|peer| peer.address.ip());
    let too_long = |_: &_| {
        let description = format!("The request is longer than {MAX_REQUEST_BYTES} bytes.");
        let error = OAuthError::new(OAuthErrorKind::InvalidRequest, description);
        (StatusCode::PAYLOAD_TOO_LARGE, error_body(&error)).into_response()
    };
    let bytes = body::read(body, MAX_REQUEST_BYTES, too_long).await?;
    Ok((Parameters::parse(&parts.headers, &bytes)?, ip))
}

/// The grant of a token request. `resource` (RFC 8707) has to be this server.
fn grant(server: &AuthorizationServer, parameters: &mut Parameters) -> Result<Grant, OAuthError> {
    if let Some(resource) = &parameters.resource {
        let own = [&server.issuer().audience, &server.issuer().url].map(|url| url.trim_end_matches('/'));
        if !own.contains(&resource.trim_end_matches('/')) {
            let description = "resource must be this server's URL: it issues tokens for itself only.";
            return Err(OAuthError::new(OAuthErrorKind::InvalidTarget, description));
        }
    }
    let scope = parameters.scope.take();
    match parameters.grant_type.as_deref() {
        Some("client_credentials") => Ok(Grant { scope, refresh_token: None }),
        Some("refresh_token") => {
            let refresh_token = Some(parameters.refresh_token.take().ok_or_else(|| missing("refresh_token"))?);
            Ok(Grant { scope, refresh_token })
        }
        Some(_) => Err(OAuthError::new(
            OAuthErrorKind::UnsupportedGrantType,
            "grant_type must be client_credentials or refresh_token.",
        )),
        None => Err(missing("grant_type")),
    }
}

/// RFC 6749 section 2.3.1: both parameters, from HTTP Basic or from the body.
fn credentials(parameters: Parameters) -> Result<ClientCredentials, OAuthError> {
    let missing = || {
        OAuthError::new(
            OAuthErrorKind::InvalidClient,
            "Client credentials are missing: send them with HTTP Basic, or as client_id and client_secret.",
        )
    };
    let (client, secret) = parameters.client_id.zip(parameters.client_secret).ok_or_else(missing)?;
    Ok(ClientCredentials { client, secret })
}

fn missing(name: &str) -> OAuthError {
    OAuthError::new(OAuthErrorKind::InvalidRequest, format!("{name} is missing."))
}

/// RFC 6749 section 5.1 forbids caching of responses with tokens.
fn uncached(result: Result<Value, Rejection>) -> Response {
    let mut response = result.map(Json).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// RFC 6749 section 5.2.
impl From<OAuthError> for Rejection {
    fn from(error: OAuthError) -> Self {
        let (status, _) = status_and_code(error.kind);
        let mut response = (status, error_body(&error)).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"mainstay\", charset=\"UTF-8\""));
        }
        if let OAuthErrorKind::TooManyFailures { retry_after } = error.kind {
            headers.insert(RETRY_AFTER, HeaderValue::from(retry_after));
        }
        response.into()
    }
}

fn error_body(error: &OAuthError) -> Json<Value> {
    Json(json!({"error": status_and_code(error.kind).1, "error_description": error.description}))
}

/// The codes of RFC 6749 section 5.2, RFC 8707 section 2 (`invalid_target`) and, for what the server cannot do now, of
/// RFC 6749 section 4.1.2.1.
pub(super) fn status_and_code(kind: OAuthErrorKind) -> (StatusCode, &'static str) {
    match kind {
        OAuthErrorKind::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request"),
        OAuthErrorKind::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
        OAuthErrorKind::InvalidGrant => (StatusCode::BAD_REQUEST, "invalid_grant"),
        OAuthErrorKind::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        OAuthErrorKind::InvalidScope => (StatusCode::BAD_REQUEST, "invalid_scope"),
        OAuthErrorKind::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
        OAuthErrorKind::TooManyFailures { .. } => (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable"),
        OAuthErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable"),
    }
}
