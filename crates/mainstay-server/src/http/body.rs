//! Reading request bodies, with a limit on their size and on the time they take.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mainstay_wire::jsonrpc::Refusal;

use super::body_memory::TooManyUnfinished;

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
        Ok(Err(error)) if is_caused_by::<TooManyUnfinished>(&*error) => {
            let why = "Too many requests are arriving at the same time (server.unfinished_bytes). Try again later.";
            unavailable(why)
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request body ended early");
            problem(StatusCode::BAD_REQUEST, "invalid_request", "The request's body ended early.")
        }
        Err(_) => {
            let why = format!("The request's body took longer than {} s.", BODY_TIMEOUT.as_secs());
            problem(StatusCode::REQUEST_TIMEOUT, "invalid_request", why)
        }
    };
    Err(rejection.into())
}

/// Whether this error, or one it was made from, is of this type.
fn is_caused_by<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| (*error).source()).any(<dyn Error>::is::<T>)
}

/// What is wrong with a request that its handler did not see or could not read. Added to the response's extensions, so
/// that a route with an error format of its own can write it in that.
#[derive(Clone)]
pub(crate) struct Problem {
    pub(crate) description: Cow<'static, str>,
}

/// The response to such a request, as JSON in the form of RFC 6749 section 5.2: a word for programs and a sentence for
/// people.
pub(crate) fn problem(status: StatusCode, error: &str, description: impl Into<Cow<'static, str>>) -> Response {
    let description = description.into();
    let text = serde_json::json!({"error": error, "error_description": description}).to_string();
    let mut response = json(status, text);
    response.extensions_mut().insert(Problem { description });
    response
}

/// The response to a request that may succeed a little later.
pub(crate) fn unavailable(description: impl Into<Cow<'static, str>>) -> Response {
    let response = problem(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", description);
    ([(header::RETRY_AFTER, "1")], response).into_response()
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
