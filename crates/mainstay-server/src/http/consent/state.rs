//! What the handlers of the consent routes share.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use mainstay_auth::{Authenticator, FailureLimit};
use mainstay_core::Caller;
use mainstay_engine::Engine;
use serde_json::json;

use super::cookie::Cookies;
use super::csrf::Csrf;
use crate::connection::Connection;
use crate::http::body;

/// The longest body of a decision or of a sign-in, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024;

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) struct Consents {
    pub(super) engine: Engine,
    pub(super) authenticator: Authenticator,
    pub(super) cookies: Cookies,
    pub(super) csrf: Csrf,
    /// Invalid tokens entered on the page, by address.
    pub(super) failures: FailureLimit,
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
pub(super) struct SignedIn;

/// The person or program that sent an authenticated request.
pub(super) struct Visitor<'a> {
    pub(super) caller: Arc<Caller>,
    pub(super) headers: &'a HeaderMap,
    pub(super) signed_in: bool,
}

impl<'a> Visitor<'a> {
    /// `None` only if the token check was left out of the route.
    pub(super) fn new(parts: &'a Parts) -> Option<Self> {
        let caller = parts.extensions.get::<Connection>()?.caller.clone();
        Some(Self { caller, headers: &parts.headers, signed_in: parts.extensions.get::<SignedIn>().is_some() })
    }
}

pub(super) async fn read_body(body: Body) -> Result<Bytes, Box<Response>> {
    body::read(body, MAX_BODY_BYTES, |refusal| json!({"error": refusal.message}).to_string()).await
}

/// The media type of the body, without parameters and in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the client is a browser: programs do not accept `text/html`.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains("text/html"))
}
