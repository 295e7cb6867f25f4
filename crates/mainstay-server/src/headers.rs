//! Reading request headers. This module imports no other module of the crate.

use http::HeaderMap;
use http::header::AsHeaderName;

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
