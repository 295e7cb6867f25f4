//! Signing in on the page. A browser sends no Authorization header, so its token waits in a cookie, which counts for
//! the page and for nothing else: not for JSON on the same route, whose decisions need no seal, and on no other route.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mainstay_core::Scope;
use mainstay_engine::oauth::{Grant, Proof, Reason, Refusal};

use super::seal::Deed;
use super::{Endpoint, FORM, kind, page, read, wants_page};
use crate::connection::Peer;
use crate::http::auth::Stranger;

/// The longest a browser keeps a token, in seconds.
const STAY: i64 = 1800;

/// The longest token, in bytes: browsers drop a cookie of more than 4096, its name and its rules among them.
const LONGEST: usize = 3900;

const ENDED: &str = "Your sign-in has ended, and nothing was decided. Sign in again.";
const NO_GOOD: &str = "This access token is not good: it is wrong, has expired, was revoked, or is for another server.";
const NO_SCOPE: &str = "This access token is good, but does not have the scope \"consent\", which deciding needs.";

/// Says of a request that its token came from the cookie.
#[derive(Clone, Copy)]
pub(super) struct SignedIn;

/// What the forms of signing in and out say.
struct Wish {
    csrf: String,
    deed: Sign,
}

enum Sign {
    Token(String),
    Client(Proof),
    Out,
}

/// Why somebody is not signed in.
struct Unsigned {
    status: StatusCode,
    told: String,
    retry_after: Option<u64>,
}

impl Unsigned {
    fn new(status: StatusCode, told: impl Into<String>) -> Self {
        Self { status, told: told.into(), retry_after: None }
    }

    fn too_many(seconds: u64) -> Self {
        let told = format!("Too many failures from your address; wait {seconds} seconds before you try again.");
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, told) }
    }
}

/// What OAuth says to a program, said to a person.
impl From<Refusal> for Unsigned {
    fn from(refusal: Refusal) -> Self {
        let told = refusal.description.into_owned();
        match refusal.reason {
            Reason::Client => Self::new(StatusCode::UNAUTHORIZED, told),
            Reason::Scope => Self::new(
                StatusCode::FORBIDDEN,
                "This client does not have the scope \"consent\", which deciding needs.",
            ),
            Reason::TooMany { retry_after } => Self::too_many(retry_after),
            Reason::Unavailable => Self::new(StatusCode::SERVICE_UNAVAILABLE, told),
            Reason::Request | Reason::Grant | Reason::GrantType | Reason::Target => {
                Self::new(StatusCode::BAD_REQUEST, told)
            }
        }
    }
}

/// Before the token check of the route: puts a browser's token where everybody else's is, and turns the refusal of one
/// that has none, or a bad one, into the page where it is asked for.
pub(crate) async fn with_sign_in(State(endpoint): State<Arc<Endpoint>>, request: Request, next: Next) -> Response {
    let is_form = kind(request.headers()) == FORM;
    let from_page = wants_page(request.headers()) && (request.method() != Method::POST || is_form);
    if endpoint.doors.are_open() || !from_page {
        return next.run(request).await;
    }
    let headers = request.headers().clone();
    if headers.contains_key(AUTHORIZATION) {
        return endpoint.asking(next.run(request).await, &headers, NO_GOOD).await;
    }
    let (mut parts, mut body) = request.into_parts();
    if parts.method == Method::POST {
        let bytes = match read(body).await {
            Ok(bytes) => bytes,
            Err(response) => return *response,
        };
        if let Some(wish) = Wish::read(&bytes) {
            return endpoint.signed(&parts, wish).await;
        }
        body = Body::from(bytes);
    }
    let Some(mut bearer) = bearer(&endpoint, &headers) else {
        return endpoint.asking(next.run(Request::from_parts(parts, body)).await, &headers, "").await;
    };
    bearer.set_sensitive(true);
    parts.headers.insert(AUTHORIZATION, bearer);
    parts.extensions.insert(SignedIn);
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status() != StatusCode::UNAUTHORIZED {
        return response;
    }
    page::with_cookie(endpoint.asking(response, &headers, ENDED).await, &endpoint.cookies.no_token())
}

fn bearer(endpoint: &Endpoint, headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("Bearer {}", endpoint.cookies.token_in(headers)?)).ok()
}

impl Wish {
    /// Nothing, if the form is another.
    fn read(form: &[u8]) -> Option<Self> {
        let field = |wanted: &str| {
            let found = form_urlencoded::parse(form).find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let deed = match field("sign").as_str() {
            "token" => Sign::Token(field("token").trim().to_owned()),
            "client" => {
                Sign::Client(Proof { client: field("client_id").trim().to_owned(), secret: field("client_secret") })
            }
            "out" => Sign::Out,
            _ => return None,
        };
        Some(Self { csrf: field("csrf"), deed })
    }
}

impl Endpoint {
    /// The page that asks for a token, instead of a refusal for want of one.
    async fn asking(&self, response: Response, headers: &HeaderMap, told: &str) -> Response {
        if response.status() != StatusCode::UNAUTHORIZED {
            return response;
        }
        let mut page = page::sign_in(self, headers, StatusCode::UNAUTHORIZED, told).await;
        page.headers_mut()
            .extend(response.headers().get(WWW_AUTHENTICATE).map(|told| (WWW_AUTHENTICATE, told.clone())));
        page
    }

    async fn signed(&self, parts: &Parts, wish: Wish) -> Response {
        let ip = parts.extensions.get::<Peer>().map(|peer| peer.address.ip());
        match self.sign(&parts.headers, wish, ip).await {
            Ok(cookie) => {
                let back = (StatusCode::SEE_OTHER, [(LOCATION, parts.uri.path())]).into_response();
                page::with_cookie(back, &cookie)
            }
            Err(unsigned) => self.unsigned(&parts.headers, &unsigned).await,
        }
    }

    async fn unsigned(&self, headers: &HeaderMap, unsigned: &Unsigned) -> Response {
        let mut page = page::sign_in(self, headers, unsigned.status, &unsigned.told).await;
        let headers = page.headers_mut();
        if unsigned.status == StatusCode::UNAUTHORIZED
            && let Ok(challenge) = HeaderValue::try_from(self.doors.challenge("error=\"invalid_token\""))
        {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        headers.extend(unsigned.retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
        page
    }

    /// The cookie for the browser.
    async fn sign(&self, headers: &HeaderMap, wish: Wish, ip: Option<IpAddr>) -> Result<String, Unsigned> {
        match self.seal.fits(&self.engine, headers, Deed::Sign, &wish.csrf).await {
            Ok(true) => {}
            Ok(false) => {
                let told = "This form does not come from this page, or is too old. Try again here.";
                return Err(Unsigned::new(StatusCode::FORBIDDEN, told));
            }
            Err(error) => return Err(Unsigned::new(StatusCode::SERVICE_UNAVAILABLE, error.public)),
        }
        match wish.deed {
            Sign::Out => Ok(self.cookies.no_token()),
            Sign::Token(token) => self.with_token(&token, ip).await,
            Sign::Client(proof) => {
                let elsewhere = || Unsigned::new(StatusCode::BAD_REQUEST, "This server does not issue tokens.");
                let authority = self.doors.authority().ok_or_else(elsewhere)?;
                let wanted = Grant::Client { scope: Some(Scope::Consent.as_str().to_owned()) };
                self.kept(&authority.grant(proof, wanted, ip).await?.access_token).await
            }
        }
    }

    /// As a client's secret is: who fails too often is not looked at.
    async fn with_token(&self, token: &str, ip: Option<IpAddr>) -> Result<String, Unsigned> {
        let place = (None, ip);
        if let Some(seconds) = self.failures.wait(&place) {
            return Err(Unsigned::too_many(seconds));
        }
        let kept = self.kept(token).await;
        if kept.as_ref().is_err_and(|unsigned| unsigned.status == StatusCode::UNAUTHORIZED) {
            self.failures.note(place);
        }
        kept
    }

    /// The cookie that keeps a good token, no longer than it is good.
    async fn kept(&self, token: &str) -> Result<String, Unsigned> {
        let no_good = |reason: &str| {
            tracing::info!(reason, "a token was refused on the page for consent");
            Unsigned::new(StatusCode::UNAUTHORIZED, NO_GOOD)
        };
        let identity = self.doors.identity(token).await.map_err(|stranger| match stranger {
            Stranger::Silent => no_good("there is none"),
            Stranger::PassedOn => no_good("it was passed on by a proxy"),
            Stranger::Refused(reason) => no_good(&reason),
            Stranger::Unknown(error) => {
                tracing::error!(detail = error.detail, "a token could not be looked up");
                Unsigned::new(StatusCode::SERVICE_UNAVAILABLE, error.public)
            }
        })?;
        if !identity.scopes.allows(Scope::Consent) {
            return Err(Unsigned::new(StatusCode::FORBIDDEN, NO_SCOPE));
        }
        if token.len() > LONGEST {
            let told = format!(
                "This access token has {} bytes, and a browser keeps {LONGEST}. Decide with `mainstay consent` instead.",
                token.len()
            );
            return Err(Unsigned::new(StatusCode::BAD_REQUEST, told));
        }
        let left = identity.expires_ms.saturating_sub(self.engine.clock().now_ms()) / 1000;
        if left <= 0 { Err(no_good("it has expired")) } else { Ok(self.cookies.token(token, left.min(STAY))) }
    }
}
