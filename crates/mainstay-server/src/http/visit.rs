//! What a request of the dialect `agents` says in its headers.

use std::sync::Arc;

use axum::response::Response;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use mainstay_core::{CancellationToken, Error, Reason, Result, new_id};
use mainstay_wire::agents::Fault;

use crate::agents::Visit;
use crate::connection::Connection;
use crate::headers::single;

const REQUEST: HeaderName = HeaderName::from_static("x-request-id");
const SESSION: HeaderName = HeaderName::from_static("x-session-id");
const USER: HeaderName = HeaderName::from_static("x-user-id");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest of these that is taken.
const LONGEST: usize = 128;

/// The request's own id if it can be used for one, or else a new one.
pub(super) fn request_id(headers: &HeaderMap) -> Arc<str> {
    let given = single(headers, REQUEST).ok().flatten().filter(|id| is_word(id));
    given.map_or_else(|| new_id().into(), Into::into)
}

pub(super) fn visit(
    parts: &Parts,
    connection: Connection,
    request_id: Arc<str>,
    cancel: CancellationToken,
) -> Result<Visit> {
    let headers = &parts.headers;
    let claimed_user = single(headers, USER).ok().flatten().filter(|user| is_word(user)).map(str::to_owned);
    if let Some(user) = &claimed_user {
        tracing::info!(%request_id, principal = %connection.caller.principal, user, "a request names its user");
    }
    let claimed_session = header(headers, &SESSION)?.map(str::to_owned);
    let idempotency_key = header(headers, &KEY)?.map(str::to_owned);
    Ok(Visit { connection, request_id, claimed_session, claimed_user, idempotency_key, cancel })
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>> {
    single(headers, name).map_err(|_| {
        Error::invalid(format!("The header {name} came twice or is not readable."))
            .with_reason(Reason::Field { field: name.as_str().into(), reason: None })
    })
}

/// Every answer tells its request's id, whatever came of it.
pub(super) fn stamp(response: &mut Response, request_id: &str) {
    put(response, REQUEST, request_id);
}

/// Whether the answer was given by the dialect itself.
pub(super) fn is_stamped(response: &Response) -> bool {
    response.headers().contains_key(REQUEST)
}

pub(super) fn put_session(response: &mut Response, session: &str) {
    put(response, SESSION, session);
}

/// Tells in headers when to retry, where a limit was exceeded.
pub(super) fn explain(response: &mut Response, fault: &Fault) {
    if let Some(left) = &fault.quota {
        put(response, RETRY_AFTER, &left.retry_after.to_string());
        put(response, HeaderName::from_static("x-ratelimit-limit"), &left.limit.to_string());
        put(response, HeaderName::from_static("x-ratelimit-remaining"), &left.remaining.to_string());
        put(response, HeaderName::from_static("x-ratelimit-reset"), &left.reset.to_string());
    }
}

fn put(response: &mut Response, name: HeaderName, value: &str) {
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
    fn a_request_id_is_echoed_if_it_is_one_printable_word_and_made_otherwise() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(REQUEST, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            request_id(&headers)
        };
        assert_eq!(&*read(&["abc-1/2"]), "abc-1/2");
        let long = "x".repeat(129);
        for unusable in [&[][..], &[""], &["a b"], &["ü"], &[&long], &["a", "a"]] {
            let made = read(unusable);
            assert!(made.len() == 32 && !unusable.contains(&&*made), "{unusable:?}: {made}");
        }
    }
}
