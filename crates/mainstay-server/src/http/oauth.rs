//! The authorization server over HTTP: tokens, their end, and what a client has to know to ask for them.

mod request;

use std::net::IpAddr;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use mainstay_core::Scope;
use mainstay_engine::oauth::{ACCESS_LIFE, Authority, Grant, Issued, Proof, Reason, Refusal};
use serde_json::{Value, json};

use super::auth::Doors;
use super::{Route, body};
use crate::connection::Peer;

use request::Asked;

/// The longest request, in bytes; a secret and a few words fit many times.
const LONGEST: usize = 64 * 1024;

/// RFC 6749, 4.4 and 6: a client's own token, or a new one for an old.
pub(crate) async fn token(State(doors): State<Doors>, request: Request) -> Response {
    let Some(authority) = doors.authority() else { return elsewhere() };
    let answer = async {
        let (mut asked, ip) = receive(request).await?;
        let grant = grant(authority, &mut asked)?;
        let issued = authority.grant(proof(asked)?, grant, ip).await?;
        Ok(said(&issued))
    };
    answered(answer.await)
}

/// RFC 7009. What is not known is as good as revoked.
pub(crate) async fn revoke(State(doors): State<Doors>, request: Request) -> Response {
    let Some(authority) = doors.authority() else { return elsewhere() };
    let answer = async {
        let (mut asked, ip) = receive(request).await?;
        let token = asked.token.take().ok_or_else(|| missing("token"))?;
        authority.revoke(proof(asked)?, &token, ip).await?;
        Ok(json!({}))
    };
    answered(answer.await)
}

/// The public keys its tokens are verified with.
pub(crate) async fn keys(State(doors): State<Doors>) -> Response {
    let Some(authority) = doors.authority() else { return elsewhere() };
    match authority.public_keys().await {
        Ok(keys) => ([(CACHE_CONTROL, "public, max-age=300")], Json(keys)).into_response(),
        Err(error) => refused(&error.into()),
    }
}

/// RFC 8414.
pub(crate) async fn metadata(State(doors): State<Doors>) -> Response {
    let Some(authority) = doors.authority() else { return elsewhere() };
    let at = |route: Route| format!("{}{}", authority.issuer(), route.path());
    let methods = ["client_secret_basic", "client_secret_post"];
    Json(json!({
        "issuer": authority.issuer(),
        "token_endpoint": at(Route::Token),
        "revocation_endpoint": at(Route::Revoke),
        "jwks_uri": at(Route::Keys),
        "grant_types_supported": ["client_credentials", "refresh_token"],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "scopes_supported": Scope::ALL.map(Scope::as_str),
    }))
    .into_response()
}

fn elsewhere() -> Response {
    (StatusCode::NOT_FOUND, "This server does not issue tokens; its protected resource metadata names who does.\n")
        .into_response()
}

/// What is asked, and from where.
async fn receive(request: Request) -> Result<(Asked, Option<IpAddr>), Failure> {
    let (parts, body) = request.into_parts();
    let ip = parts.extensions.get::<Peer>().map(|peer| peer.address.ip());
    let too_long = |_: &_| {
        said_no(&Refusal::new(Reason::Request, format!("The request is longer than {LONGEST} bytes."))).to_string()
    };
    let bytes = body::read(body, LONGEST, too_long).await.map_err(Failure::Body)?;
    Ok((Asked::read(&parts.headers, &bytes)?, ip))
}

fn grant(authority: &Authority, asked: &mut Asked) -> Result<Grant, Refusal> {
    if let Some(resource) = &asked.resource {
        let ours = [authority.audience(), authority.issuer()].map(|url| url.trim_end_matches('/'));
        if !ours.contains(&resource.trim_end_matches('/')) {
            return Err(Refusal::new(Reason::Target, "Tokens are given for this server alone."));
        }
    }
    let scope = asked.scope.take();
    match asked.grant_type.as_deref() {
        Some("client_credentials") => Ok(Grant::Client { scope }),
        Some("refresh_token") => {
            let token = asked.refresh_token.take().ok_or_else(|| missing("refresh_token"))?;
            Ok(Grant::Refresh { token, scope })
        }
        Some(_) => Err(Refusal::new(Reason::GrantType, "grant_type must be client_credentials or refresh_token.")),
        None => Err(missing("grant_type")),
    }
}

fn proof(asked: Asked) -> Result<Proof, Refusal> {
    let nobody =
        || Refusal::new(Reason::Client, "Say who you are: with HTTP Basic, or with client_id and client_secret.");
    let (client, secret) = asked.client_id.zip(asked.client_secret).ok_or_else(nobody)?;
    Ok(Proof { client, secret })
}

fn missing(name: &str) -> Refusal {
    Refusal::new(Reason::Request, format!("{name} is missing."))
}

/// Why there is no answer but this.
enum Failure {
    Refusal(Refusal),
    /// The body did not come as a whole.
    Body(Box<Response>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

fn answered(answer: Result<Value, Failure>) -> Response {
    let mut response = match answer {
        Ok(given) => Json(given).into_response(),
        Err(Failure::Refusal(refusal)) => refused(&refusal),
        Err(Failure::Body(response)) => *response,
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

fn said(issued: &Issued) -> Value {
    json!({
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": ACCESS_LIFE.as_secs(),
        "scope": issued.scopes.to_string(),
        "refresh_token": issued.refresh_token,
    })
}

/// RFC 6749, 5.2.
fn refused(refusal: &Refusal) -> Response {
    let (status, _) = numbered(refusal.reason);
    let mut response = (status, Json(said_no(refusal))).into_response();
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"mainstay\", charset=\"UTF-8\""));
    }
    if let Reason::TooMany { retry_after } = refusal.reason {
        headers.insert(RETRY_AFTER, HeaderValue::from(retry_after));
    }
    response
}

fn said_no(refusal: &Refusal) -> Value {
    json!({"error": numbered(refusal.reason).1, "error_description": refusal.description})
}

fn numbered(reason: Reason) -> (StatusCode, &'static str) {
    match reason {
        Reason::Request => (StatusCode::BAD_REQUEST, "invalid_request"),
        Reason::Client => (StatusCode::UNAUTHORIZED, "invalid_client"),
        Reason::Grant => (StatusCode::BAD_REQUEST, "invalid_grant"),
        Reason::GrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        Reason::Scope => (StatusCode::BAD_REQUEST, "invalid_scope"),
        Reason::Target => (StatusCode::BAD_REQUEST, "invalid_target"),
        Reason::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable"),
        Reason::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable"),
    }
}
