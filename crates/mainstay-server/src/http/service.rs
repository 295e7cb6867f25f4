//! What happens to every request of a connection before its route is looked up, and to every response after it was made:
//! the request's id, its sender, the memory of both bodies, and the format of errors that no handler made.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use mainstay_wire::agents;
use tower::ServiceExt as _;

use super::body_memory::{TooManyUnsent, UnfinishedBodies, Unsent};
use super::http2::{Pieces, Streams};
use super::{api, body, request_headers};
use crate::connection::{Peer, Serving};

/// As the SDK writes it.
const EVENT_STREAM: &str = "text/event-stream";
/// Event streams are UTF-8. Clients that are not told so read texts as Latin-1, which was the default of RFC 2616.
const EVENT_STREAM_UTF8: &str = "text/event-stream; charset=utf-8";

/// Serves one request. `streams` are those of its connection, if that is one of HTTP/2.
pub(super) async fn serve(
    router: Router,
    peer: Peer,
    bodies: UnfinishedBodies,
    streams: Option<Streams>,
    mut request: Request<Incoming>,
) -> Response<ServedBody> {
    let serving = peer.activity.serve();
    let admitted = match &streams {
        None => Ok(None),
        Some(streams) => streams.admit(&serving).await.map(Some),
    };
    let id = request_headers::assign_id(request.headers_mut());
    let is_api = request.uri().path().starts_with(api::PREFIX);
    let mut unsent = Unsent::new(peer.unsent.clone(), peer.activity.clone());
    let activity = Arc::clone(&peer.activity);
    request.extensions_mut().insert(peer);
    let request = request.map(|body| Body::new(bodies.count(body, activity)));
    let (mut response, pieces) = if let Ok(pieces) = admitted {
        let Ok(response) = router.oneshot(request).await;
        (response, pieces)
    } else {
        let why = "Too many requests are being served at the same time (server.connections). Try again later.";
        (body::unavailable(why), None)
    };
    if let Err(TooManyUnsent(length)) = unsent.reserve(response.body()) {
        let why = format!(
            "The request was carried out, but its response of {length} bytes could not be kept, because earlier ones have \
             not been read (server.unsent_bytes). Read them first."
        );
        // Without Retry-After: the request may have changed something.
        response = body::problem(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", why);
    }
    if is_api && let Some(problem) = response.extensions_mut().remove::<body::Problem>() {
        response = in_api_format(response, &problem);
    }
    let headers = response.headers_mut();
    headers.insert(request_headers::REQUEST, id);
    if headers.get(CONTENT_TYPE).is_some_and(|media_type| media_type == EVENT_STREAM) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM_UTF8));
    }
    response.map(|body| ServedBody::new(body, unsent, serving, pieces))
}

/// The same response with a body in the one error format of the REST API. Status and headers stay.
fn in_api_format(response: Response, problem: &body::Problem) -> Response {
    let error = agents::status_error(response.status().as_u16(), &problem.description);
    let mut response = response.map(|_| Body::from(api::error_body(&error)));
    response.headers_mut().remove(CONTENT_LENGTH);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(body::JSON));
    response
}

/// The body of a response. The request counts as served when it has been written, or cannot be.
pub(super) struct ServedBody {
    body: Body,
    unsent: Unsent,
    /// For HTTP/2. Boxed: HTTP/1.1 has none.
    pieces: Option<Box<Pieces>>,
    _serving: Serving,
}

impl ServedBody {
    pub(super) fn new(body: Body, unsent: Unsent, serving: Serving, pieces: Option<Pieces>) -> Self {
        Self { body, unsent, pieces: pieces.map(Box::new), _serving: serving }
    }

    /// Bytes that were taken from the body and not written.
    fn rest(&self) -> u64 {
        self.pieces.as_ref().map_or(0, |pieces| pieces.rest() as u64)
    }
}

impl HttpBody for ServedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(piece) = self.pieces.as_mut().and_then(|pieces| pieces.next()) {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        Poll::Ready(Some(match frame.into_data() {
            Ok(bytes) => match self.unsent.count(bytes) {
                Ok(bytes) => Ok(Frame::data(match &mut self.pieces {
                    Some(pieces) => pieces.first(bytes),
                    None => bytes,
                })),
                // A stream has no other way to tell: its connection is closed, or with HTTP/2 the stream alone.
                Err(_) => Err(axum::Error::new("too much of earlier responses has not been read")),
            },
            Err(trailers) => Ok(trailers),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.rest() == 0 && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest());
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
