//! Reading request bodies, with a limit on their size and on the time they take.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mainstay_wire::jsonrpc::Refusal;

pub(crate) const JSON: &str = "application/json";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// How long a client may take to send its body. Without a limit, slow clients could use up all connections.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// The response to a request that its handler cannot go on with. Boxed: a response is too large for an error.
pub(crate) struct Rejection(Box<Response>);

impl From<Response> for Rejection {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// The whole body. `too_long` makes the response to a longer one, in the protocol of the route.
pub(crate) async fn read(
    body: Body,
    limit: usize,
    too_long: impl FnOnce(&Refusal) -> Response,
) -> Result<Bytes, Rejection> {
    let rejection = match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => return Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => too_long(&Refusal::too_long(limit)),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request body ended early");
            StatusCode::BAD_REQUEST.into_response()
        }
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    Err(rejection.into())
}

/// A JSON response whose body is already serialized.
pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body.into()).into_response()
}

/// The media type of the body, without parameters and in lower case. Empty if there is none.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the client reads responses of this media type and says so: `*/*` does not count, because every program that
/// knows nothing of the type sends it.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains(media_type))
}
