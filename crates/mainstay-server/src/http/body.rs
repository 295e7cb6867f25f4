//! Reading request bodies, with a limit on their size and on the time they take.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mainstay_wire::jsonrpc::Refusal;

/// How long a client may take to send its body. Without a limit, slow clients could use up all connections.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// The whole body, or the error response. `to_body` writes the body of the 413 response in the protocol of the route.
pub(crate) async fn read<B: Into<Body>>(
    body: Body,
    limit: usize,
    to_body: impl Fn(&Refusal) -> B,
) -> Result<Bytes, Box<Response>> {
    match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Box::new(json(StatusCode::PAYLOAD_TOO_LARGE, to_body(&Refusal::too_long(limit)))))
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request body ended early");
            Err(Box::new(StatusCode::BAD_REQUEST.into_response()))
        }
        Err(_) => Err(Box::new(StatusCode::REQUEST_TIMEOUT.into_response())),
    }
}

/// A JSON response whose body is already serialized.
pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Whether the body is JSON. A missing Content-Type is accepted: contract clients leave it out.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return true };
    let essence = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
