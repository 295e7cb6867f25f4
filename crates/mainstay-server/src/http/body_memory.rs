//! Limits on the memory of request bodies that have not arrived completely, and of responses that are not read. Each
//! body is limited in size and time, but every connection may have one: without these limits, clients that send or read
//! slowly could fill the memory together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use mainstay_core::Principal;

use super::http2::STREAMS;
use crate::connection::Activity;
use crate::memory_limit::{Counted, MemoryLimit, MemoryShare};

/// Of the memory of arriving requests one principal, and all senders that are not identified together, may take a quarter.
const UNFINISHED_SHARES: usize = 4;

/// Of the memory of responses that are not read one principal may take half.
const UNSENT_SHARES: usize = 2;

/// Shorter responses are not counted: the kernel's buffers take them, and a connection has only one that is not read.
const UNCOUNTED: usize = 64 * 1024;

/// The same for HTTP/2, where each stream of a connection has one.
const UNCOUNTED_STREAM: usize = UNCOUNTED / STREAMS as usize;

/// How long a request waits until its sender has read earlier responses.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The memory of all bodies that are arriving (`server.unfinished_bytes`). Cloning is cheap.
#[derive(Clone)]
pub(super) struct UnfinishedBodies(MemoryLimit);

/// A request was rejected because too much memory is taken by unfinished ones.
#[derive(Debug, thiserror::Error)]
#[error("too many unfinished requests")]
pub(super) struct TooManyUnfinished;

impl UnfinishedBodies {
    pub(super) fn new(most: usize) -> Self {
        Self(MemoryLimit::new(most, UNFINISHED_SHARES))
    }

    /// A body whose memory is counted until all of it has arrived.
    pub(super) fn count(&self, body: Incoming, activity: Arc<Activity>) -> CountedBody {
        CountedBody { body, activity, memory: self.0.clone(), share: None }
    }
}

/// The body of a request. It fails with [`TooManyUnfinished`] when the memory is used up.
pub(super) struct CountedBody {
    body: Incoming,
    activity: Arc<Activity>,
    memory: MemoryLimit,
    share: Option<MemoryShare>,
}

impl CountedBody {
    fn hold(&mut self, bytes: usize) -> bool {
        let (memory, activity) = (&self.memory, &self.activity);
        // The token check comes before the body is read, so that the sender is known by now, if it ever is.
        self.share.get_or_insert_with(|| memory.share(activity.principal())).grow(bytes)
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            // A body that arrives as a whole, as most do, is never counted.
            Some(Ok(frame)) if !self.body.is_end_stream() => {
                if !self.hold(frame.data_ref().map_or(0, Bytes::len)) {
                    return Poll::Ready(Some(Err(TooManyUnfinished.into())));
                }
            }
            // It has arrived: from here on its memory is that of a call, which has limits of its own.
            Some(_) | None => self.share = None,
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The memory of all responses that are not read (`server.unsent_bytes`).
pub(super) fn unsent_limit(most: usize) -> MemoryLimit {
    MemoryLimit::new(most, UNSENT_SHARES)
}

/// Waits until this principal has room for another response; false if it has not read enough of the earlier ones in time.
/// Asked before a request is carried out: what nobody could be told should not happen.
pub(super) async fn has_room(unsent: &MemoryLimit, principal: &Principal) -> bool {
    unsent.has_room(Some(principal)) || tokio::time::timeout(READ_TIMEOUT, unsent.room(Some(principal))).await.is_ok()
}

/// The memory of one response.
pub(super) struct Unsent {
    limit: MemoryLimit,
    activity: Arc<Activity>,
    /// For the whole body, if its length is known from the start.
    reserved: Option<MemoryShare>,
}

/// A response of this length was not kept, because too much memory is taken by others that are not read.
#[derive(Debug)]
pub(super) struct TooManyUnsent(pub(super) usize);

impl Unsent {
    pub(super) fn new(limit: MemoryLimit, activity: Arc<Activity>) -> Self {
        Self { limit, activity, reserved: None }
    }

    /// Reserves memory for a body of known length. A stream is counted as it comes.
    pub(super) fn reserve(&mut self, body: &impl Body) -> Result<(), TooManyUnsent> {
        let length = body.size_hint().exact().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
        if length > self.uncounted() {
            self.reserved = self.share(length)?;
        }
        Ok(())
    }

    /// The same bytes, counted until they are written to the connection or given up with it.
    pub(super) fn count(&mut self, bytes: Bytes) -> Result<Bytes, TooManyUnsent> {
        let share = match self.reserved.take() {
            None if bytes.len() <= self.uncounted() => None,
            None => self.share(bytes.len())?,
            reserved => reserved,
        };
        // Hyper writes the bytes from where they are and drops them when the last of them is written: the end of the
        // body comes earlier, when it has been handed over.
        Ok(match share {
            Some(share) => Bytes::from_owner(Counted::new(bytes, share)),
            None => bytes,
        })
    }

    fn uncounted(&self) -> usize {
        if self.activity.is_stream() { UNCOUNTED_STREAM } else { UNCOUNTED }
    }

    /// `None` for what a client gets without a token: it is part of the program, or short.
    fn share(&self, bytes: usize) -> Result<Option<MemoryShare>, TooManyUnsent> {
        let Some(principal) = self.activity.principal() else { return Ok(None) };
        let mut share = self.limit.share(Some(principal));
        if share.grow(bytes) { Ok(Some(share)) } else { Err(TooManyUnsent(bytes)) }
    }
}
