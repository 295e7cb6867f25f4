//! Signing in on the consent page. A browser sends no Authorization header, so a cookie keeps the person's token. The
//! cookie counts for the page only: not for JSON on the same route, whose decisions need no CSRF token, and on no other
//! route.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mainstay_auth::AuthError;
use mainstay_auth::oauth::{ClientCredentials, Grant, OAuthError, OAuthErrorKind};
use mainstay_core::Scope;

use super::csrf::FormAction;
use super::{Consents, SignedIn, form_field, page, read_body};
use crate::connection::Peer;
use crate::http::auth::{challenge, set_bearer};
use crate::http::body::{self, Rejection};
use crate::http::oauth::status_and_code;

/// The longest time a cookie keeps a token, in seconds.
const MAX_COOKIE_SECONDS: i64 = 1800;

/// The longest token, in bytes: browsers drop a cookie of more than 4096 bytes including its name and attributes.
const MAX_TOKEN_BYTES: usize = 3900;

const SESSION_ENDED: &str = "Your sign-in has ended, and nothing was decided. Sign in again.";
const INVALID_TOKEN: &str =
    "This access token is not valid: it is wrong, has expired, was revoked, or is for another server.";
const MISSING_SCOPE: &str =
    "This access token is valid, but does not have the scope \"consent\", which deciding needs.";

/// Why a sign-in failed, for the person.
struct SignInError {
    status: StatusCode,
    message: String,
    retry_after: Option<u64>,
}

impl SignInError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    fn too_many(seconds: u64) -> Self {
        let message = format!("Too many failed attempts from your address. Try again in {seconds} seconds.");
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }
}

/// The same error for a person instead of a program.
impl From<OAuthError> for SignInError {
    fn from(error: OAuthError) -> Self {
        if let OAuthErrorKind::TooManyFailures { retry_after } = error.kind {
            return Self::too_many(retry_after);
        }
        if error.kind == OAuthErrorKind::InvalidScope {
            let message = "This client does not have the scope \"consent\", which deciding needs.";
            return Self::new(StatusCode::FORBIDDEN, message);
        }
        Self::new(status_and_code(error.kind).0, error.description)
    }
}

/// Middleware outside the token check of the route: moves the token from the cookie to the Authorization header, handles
/// the sign-in forms, and answers a browser without a valid token with the sign-in page.
pub(crate) async fn with_sign_in(
    State(consents): State<Arc<Consents>>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    let (mut parts, mut body) = request.into_parts();
    let is_post = parts.method == Method::POST;
    let from_page =
        body::accepts(&parts.headers, "text/html") && (!is_post || body::media_type(&parts.headers) == body::FORM);
    if !consents.authenticator.requires_token() || !from_page {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let headers = parts.headers.clone();
    let mut message = INVALID_TOKEN;
    if !headers.contains_key(AUTHORIZATION) {
        if is_post {
            let form = read_body(body).await?;
            if matches!(form_field(&form, "sign").as_str(), "token" | "client" | "out") {
                return Ok(consents.submit(&parts, &form).await);
            }
            body = Body::from(form);
        }
        let token = consents.cookies.find_token(&headers);
        let has_session = token.is_some_and(|token| set_bearer(&mut parts.headers, token));
        message = "";
        if has_session {
            parts.extensions.insert(SignedIn);
            message = SESSION_ENDED;
        }
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    // The sign-in page instead of the 401 response, with the challenge of that response.
    let mut page = page::sign_in(&consents, &headers, StatusCode::UNAUTHORIZED, message).await;
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    page.headers_mut().extend(challenge.map(|challenge| (WWW_AUTHENTICATE, challenge.clone())));
    if message == SESSION_ENDED {
        page = page::with_cookie(page, &consents.cookies.delete_token());
    }
    Ok(page)
}

impl Consents {
    /// Sets or deletes the cookie and goes back to the page of the request, or shows the sign-in page again.
    async fn submit(&self, parts: &Parts, form: &[u8]) -> Response {
        let ip = parts.extensions.get::<Peer>().map(|peer| peer.address.ip());
        let error = match self.cookie_for(&parts.headers, form, ip).await {
            Ok(cookie) => {
                let back = (StatusCode::SEE_OTHER, [(LOCATION, parts.uri.path())]).into_response();
                return page::with_cookie(back, &cookie);
            }
            Err(error) => error,
        };
        let mut page = page::sign_in(self, &parts.headers, error.status, &error.message).await;
        let headers = page.headers_mut();
        if error.status == StatusCode::UNAUTHORIZED
            && let Ok(challenge) = HeaderValue::try_from(challenge(&self.authenticator, "error=\"invalid_token\""))
        {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        headers.extend(error.retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
        page
    }

    /// The cookie that a sign-in form leads to. Its CSRF token is checked before the credentials, so that a foreign page
    /// can neither sign a person in as somebody else nor use up their attempts.
    async fn cookie_for(&self, headers: &HeaderMap, form: &[u8], ip: Option<IpAddr>) -> Result<String, SignInError> {
        match self.csrf.verify(&self.engine, headers, FormAction::SignIn, &form_field(form, "csrf")).await {
            Ok(true) => {}
            Ok(false) => {
                let message = "This form was not sent from this page, or the page is too old. Try again here.";
                return Err(SignInError::new(StatusCode::FORBIDDEN, message));
            }
            Err(error) => return Err(SignInError::new(StatusCode::SERVICE_UNAVAILABLE, error.public)),
        }
        match form_field(form, "sign").as_str() {
            "token" => self.cookie_for_entered_token(form_field(form, "token").trim(), ip).await,
            "client" => {
                let no_tokens = || SignInError::new(StatusCode::BAD_REQUEST, "This server does not issue tokens.");
                let server = self.authenticator.authorization_server().ok_or_else(no_tokens)?;
                let (client, secret) = (form_field(form, "client_id"), form_field(form, "client_secret"));
                let credentials = ClientCredentials { client: client.trim().to_owned(), secret };
                let grant = Grant { scope: Some(Scope::Consent.as_str().to_owned()), refresh_token: None };
                self.cookie_for_token(&server.grant(credentials, grant, ip).await?.access_token).await
            }
            _ => Ok(self.cookies.delete_token()),
        }
    }

    /// Tokens that people enter are limited like client secrets.
    async fn cookie_for_entered_token(&self, token: &str, ip: Option<IpAddr>) -> Result<String, SignInError> {
        let source = self.failures.source("", ip);
        if let Some(seconds) = self.failures.retry_after(&source) {
            return Err(SignInError::too_many(seconds));
        }
        let cookie = self.cookie_for_token(token).await;
        if cookie.as_ref().is_err_and(|error| error.status == StatusCode::UNAUTHORIZED) {
            self.failures.add(source);
        }
        cookie
    }

    /// A cookie with a valid token, which expires no later than the token.
    async fn cookie_for_token(&self, token: &str) -> Result<String, SignInError> {
        let invalid = |reason: &str| {
            tracing::info!(reason, "an access token was rejected on the consent page");
            SignInError::new(StatusCode::UNAUTHORIZED, INVALID_TOKEN)
        };
        let identity = self.authenticator.identity(token).await.map_err(|error| match error {
            AuthError::MissingToken => invalid("there is none"),
            AuthError::InvalidToken(reason) => invalid(reason),
            AuthError::Unavailable(error) => {
                tracing::error!(detail = error.detail, "an access token could not be verified");
                SignInError::new(StatusCode::SERVICE_UNAVAILABLE, error.public)
            }
        })?;
        if !identity.scopes.allows(Scope::Consent) {
            return Err(SignInError::new(StatusCode::FORBIDDEN, MISSING_SCOPE));
        }
        if token.len() > MAX_TOKEN_BYTES {
            let message = format!(
                "This access token has {} bytes; a browser keeps at most {MAX_TOKEN_BYTES}. Use `mainstay consent` instead.",
                token.len()
            );
            return Err(SignInError::new(StatusCode::BAD_REQUEST, message));
        }
        let left = identity.expires_ms.saturating_sub(self.engine.clock().now_ms()) / 1000;
        if left <= 0 {
            return Err(invalid("it has expired"));
        }
        Ok(self.cookies.token(token, left.min(MAX_COOKIE_SECONDS)))
    }
}
