//! The request headers of a dialect: the request's id, its session, its user and its idempotency key.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use mainstay_core::{CancellationToken, Error, Reason, Result, new_id};

use crate::connection::Connection;
use crate::dialect::RequestContext;
use crate::headers::{self, REQUEST_ID, single};

/// Also in the response, so that a request can be found in the log and in the audit.
pub(super) const REQUEST: HeaderName = REQUEST_ID;
pub(super) const SESSION: HeaderName = HeaderName::from_static("x-session-id");
const USER: HeaderName = HeaderName::from_static("x-user-id");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest id of a request or a user that is accepted, in bytes.
const LONGEST: usize = 128;

/// The id of a request, as [`assign_id`] put it there.
pub(super) fn request_id(headers: &HeaderMap) -> Arc<str> {
    headers::request_id(headers).unwrap_or_else(|| new_id().into())
}

/// Gives a request its id, in its own header: the one its client gave it if it can be used as one, or else a new one. From
/// here on every reader of the header finds the same id. Returned for the response.
pub(super) fn assign_id(headers: &mut HeaderMap) -> HeaderValue {
    let id = match single(headers, REQUEST) {
        Ok(Some(given)) if is_word(given) => headers.get(REQUEST).cloned(),
        Ok(_) | Err(_) => HeaderValue::from_str(&new_id()).ok(),
    };
    // An id that cannot be a header does not occur: words and our own ids are printable ASCII.
    let id = id.unwrap_or_else(|| HeaderValue::from_static("unknown"));
    headers.insert(REQUEST, id.clone());
    id
}

/// What a request says in its headers. Session and user are read only in a dialect that has sessions.
pub(super) fn read(
    headers: &HeaderMap,
    has_sessions: bool,
    connection: Connection,
    request_id: Arc<str>,
    cancel: CancellationToken,
) -> Result<RequestContext> {
    let user = single(headers, USER).ok().flatten().filter(|user| has_sessions && is_word(user)).map(str::to_owned);
    if let Some(user) = &user {
        let principal = connection.caller.principal.as_str();
        tracing::info!(%request_id, principal, user, "a request names its user");
    }
    let session = if has_sessions { header(headers, &SESSION)? } else { None };
    let key = header(headers, &KEY)?;
    Ok(RequestContext {
        connection,
        request_id,
        session: None,
        claimed_session: session.map(str::to_owned),
        claimed_user: user,
        idempotency_key: key.map(str::to_owned),
        chunks: None,
        cancel,
    })
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>> {
    single(headers, name).map_err(|_| {
        Error::invalid(format!("The header {name} came twice or is not readable."))
            .with_reason(Reason::Field { field: name.as_str().into(), reason: None })
    })
}

/// Sets a header of the response. A value that no header can have is left out.
pub(super) fn put(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

fn is_word(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_kept_if_it_is_one_printable_word_and_made_otherwise() {
        let assign = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(REQUEST, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let assigned = assign_id(&mut headers);
            assert_eq!(&*request_id(&headers), assigned.to_str().unwrap());
            request_id(&headers)
        };
        assert_eq!(&*assign(&["abc-1/2"]), "abc-1/2");
        let long = "x".repeat(129);
        for unusable in [&[][..], &[""], &["a b"], &["ü"], &[&long], &["a", "a"]] {
            let made = assign(unusable);
            assert!(made.len() == 32 && !unusable.contains(&&*made), "{unusable:?}: {made}");
        }
    }
}
