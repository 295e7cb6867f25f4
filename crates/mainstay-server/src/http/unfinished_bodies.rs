//! A limit on the memory of request bodies that have not arrived completely. Each body is limited in size and time, but
//! every connection may have one: without this limit, clients that send slowly could fill the memory together.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use mainstay_core::Principal;
use parking_lot::Mutex;

use crate::connection::Activity;

/// One principal, and all senders that are not identified together, may take a quarter of the memory.
const SHARES: usize = 4;

/// The memory of all bodies that are arriving. Cloning is cheap.
#[derive(Clone)]
pub(super) struct UnfinishedBodies(Arc<Memory>);

struct Memory {
    /// In bytes (`server.unfinished_bytes`).
    most: usize,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    total: usize,
    /// `None` for senders that are not identified. Who uses nothing has no entry.
    by: HashMap<Option<Principal>, usize>,
}

/// A request was rejected because too much memory is taken by unfinished ones.
#[derive(Debug, thiserror::Error)]
#[error("too many unfinished requests")]
pub(super) struct TooManyUnfinished;

/// The part of one body, given back when it is dropped.
struct Share {
    memory: Arc<Memory>,
    of: Option<Principal>,
    bytes: usize,
}

impl UnfinishedBodies {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Memory { most, used: Mutex::default() }))
    }

    /// A body whose memory is counted until all of it has arrived.
    pub(super) fn count(&self, body: Incoming, activity: Arc<Activity>) -> CountedBody {
        CountedBody { body, activity, memory: self.0.clone(), share: None }
    }

    #[cfg(test)]
    fn share(&self, of: Option<Principal>) -> Share {
        Share { memory: self.0.clone(), of, bytes: 0 }
    }
}

impl Share {
    /// False if there is not as much memory left, for this principal or for all.
    fn grow(&mut self, bytes: usize) -> bool {
        let mut used = self.memory.used.lock();
        // Without tokens all clients are the same principal.
        let all = self.of.as_ref().is_some_and(Principal::is_local);
        let most = if all { self.memory.most } else { self.memory.most / SHARES };
        let own = used.by.get(&self.of).copied().unwrap_or_default();
        if own + bytes > most || used.total + bytes > self.memory.most {
            return false;
        }
        used.total += bytes;
        *used.by.entry(self.of.clone()).or_default() += bytes;
        self.bytes += bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.memory.used.lock();
        used.total -= self.bytes;
        if let Some(own) = used.by.get_mut(&self.of) {
            *own -= self.bytes;
            if *own == 0 {
                used.by.remove(&self.of);
            }
        }
    }
}

/// The body of a request. It fails with [`TooManyUnfinished`] when the memory is used up.
pub(super) struct CountedBody {
    body: Incoming,
    activity: Arc<Activity>,
    memory: Arc<Memory>,
    share: Option<Share>,
}

impl CountedBody {
    fn hold(&mut self, bytes: usize) -> bool {
        let (memory, activity) = (&self.memory, &self.activity);
        // The token check comes before the body is read, so that the sender is known by now, if it ever is.
        let new = || Share { memory: memory.clone(), of: activity.principal(), bytes: 0 };
        self.share.get_or_insert_with(new).grow(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_principal_takes_a_quarter_and_all_together_no_more_than_there_is() {
        let bodies = UnfinishedBodies::new(400);
        let named = |name: &str| Some(Principal::new("https://issuer", name));
        let mut held = Vec::new();
        for of in [None, named("ann"), named("bob"), named("eve")] {
            let (mut first, mut second) = (bodies.share(of.clone()), bodies.share(of.clone()));
            assert!(first.grow(60) && second.grow(40), "{of:?}");
            assert!(!first.grow(1) && !second.grow(1), "{of:?}");
            held.extend([first, second]);
        }
        assert!(!bodies.share(named("dan")).grow(1), "all of it is taken");
        held.truncate(6);
        assert!(bodies.share(named("dan")).grow(100));
        drop(held);
        assert!(bodies.0.used.lock().by.is_empty() && bodies.0.used.lock().total == 0);
        assert!(bodies.share(Some(Principal::local())).grow(400), "without tokens there is one principal");
    }
}
