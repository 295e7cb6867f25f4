//! Reading a request's body, no further and no longer than it is worth.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mainstay_wire::jsonrpc::Refusal;

/// A client that sends its body slower than this is not worth a place.
const PATIENCE: Duration = Duration::from_mins(1);

/// The whole body, or the response to the client that did not send one. `word` puts a refusal into the words of the
/// protocol that is spoken.
pub(crate) async fn read(body: Body, limit: usize, word: impl Fn(&Refusal) -> String) -> Result<Bytes, Box<Response>> {
    match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Box::new(json(StatusCode::PAYLOAD_TOO_LARGE, word(&Refusal::too_long(limit)))))
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "a body broke off");
            Err(Box::new(StatusCode::BAD_REQUEST.into_response()))
        }
        Err(_) => Err(Box::new(StatusCode::REQUEST_TIMEOUT.into_response())),
    }
}

pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// JSON, or a client that does not say what it sends.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return true };
    let essence = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
