//! Static assets: the page that shows the OpenAPI document, and style sheets. Everything a page needs is in the binary, so
//! that it works without a network.
//!
//! The viewer is our own, 165 lines of HTML, CSS and JavaScript (7 KB). Swagger UI would add a 1.8 MB archive to the
//! binary, and both it and Scalar need `'unsafe-inline'` styles, which [`POLICY`] does not allow.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{StatusCode, header};

use super::body;

pub(super) const PAGE: &str = include_str!("../../assets/docs/index.html");
pub(super) const SCRIPT: &str = include_str!("../../assets/docs/viewer.js");
pub(super) const STYLE: &str = include_str!("../../assets/docs/viewer.css");

/// The content security policy: nothing inline, nothing from other servers, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /openapi.json`.
pub(super) async fn document(State(document): State<Bytes>) -> Response {
    body::json(StatusCode::OK, Body::from(document))
}

/// A text that is part of the program, as UTF-8.
pub(super) fn asset(media_type: &str, text: &'static str) -> Response {
    let content_type = format!("{media_type}; charset=utf-8");
    let headers = [
        (header::CONTENT_TYPE, content_type.as_str()),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}
