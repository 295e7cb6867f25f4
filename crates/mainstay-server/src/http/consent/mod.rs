//! `/api/mcp/consent/{id}`: a request for consent, as JSON for programs and as a page for people.
//!
//! The rules are in `mainstay_auth::consent`. Here are the handlers (`decide.rs`), the page without scripts (`page.rs`),
//! protection against forged forms (`csrf.rs`), and signing in with a token that a cookie keeps (`sign_in.rs`).

mod cookie;
mod csrf;
mod decide;
mod page;
mod sign_in;

use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use mainstay_auth::{Authenticator, FailureLimit};
use mainstay_core::Caller;
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::Refusal;

use crate::connection::Connection;
use crate::http::body::{self, Rejection};

use cookie::Cookies;
use csrf::Csrf;

pub use decide::CONSENT_QUOTAS;
pub(crate) use decide::{decide, show};
pub(crate) use page::STYLE;
pub(crate) use sign_in::with_sign_in;

/// The longest body of a decision or of a sign-in, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024;

pub(crate) struct Consents {
    engine: Engine,
    authenticator: Authenticator,
    cookies: Cookies,
    csrf: Csrf,
    /// Invalid tokens entered on the page, by address.
    failures: FailureLimit,
}

impl Consents {
    pub(crate) fn new(engine: Engine, authenticator: Authenticator, origin: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            authenticator,
            cookies: Cookies::new(origin),
            csrf: Csrf::default(),
            failures: FailureLimit::default(),
        })
    }
}

/// Marks a request whose token came from the sign-in cookie.
#[derive(Clone, Copy)]
struct SignedIn;

/// The person or program that sent an authenticated request.
struct Visitor<'a> {
    caller: Arc<Caller>,
    headers: &'a HeaderMap,
    signed_in: bool,
}

impl<'a> Visitor<'a> {
    /// Fails only if the token check was left out of the route.
    fn new(parts: &'a Parts) -> Result<Self, Rejection> {
        let connection = parts.extensions.get::<Connection>();
        let caller = connection.ok_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into_response())?.caller.clone();
        Ok(Self { caller, headers: &parts.headers, signed_in: parts.extensions.get::<SignedIn>().is_some() })
    }
}

async fn read_body(body: Body) -> Result<Bytes, Rejection> {
    let too_long =
        |refusal: &Refusal| body::problem(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request", refusal.message.clone());
    body::read(body, MAX_BODY_BYTES, too_long).await
}

/// A field of a form; empty if it was left out.
fn form_field(form: &[u8], wanted: &str) -> String {
    let found = form_urlencoded::parse(form).find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}
