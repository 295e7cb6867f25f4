//! Reading request headers. This module imports no other module of the crate.

use std::sync::Arc;

use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName};

/// The id of a request. Every HTTP request has one when it reaches its route: the client's, or one made for it.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) fn request_id(headers: &HeaderMap) -> Option<Arc<str>> {
    headers.get(REQUEST_ID)?.to_str().ok().map(Into::into)
}

/// The value of a header that may occur once. A header that occurs twice is an error, because two readers of the same
/// request (a proxy and this server) might each use another of its values.
pub(crate) fn single(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("a header that decides who may call came twice");
    }
    value.to_str().map(Some).map_err(|_| "a header that decides who may call is not readable")
}
