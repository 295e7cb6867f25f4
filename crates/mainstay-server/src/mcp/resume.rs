//! Streams whose reader has gone away: read on in its place, and replayed when it comes back with the last id it saw.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use dashmap::DashMap;
use futures::{Stream, StreamExt};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

/// How long a finished stream waits for its reader.
const KEPT: Duration = Duration::from_mins(1);

/// Abandoned streams of one session that are kept; the next one is not.
const MOST: usize = 16;

/// What all abandoned streams may take together, in bytes.
const ROOM: usize = 64 * 1024 * 1024;

/// Events a stream remembers while its reader is there: what may be on the way when the connection breaks.
const RECENT: usize = 64;

/// A session and one of its streams, as the stream's event ids name it.
type Key = (SessionId, String);

#[derive(Clone, Default)]
pub(crate) struct Abandoned {
    logs: Arc<DashMap<Key, Arc<Log>>>,
    bytes: Arc<AtomicUsize>,
}

/// What a stream has carried lately.
struct Log {
    events: Mutex<VecDeque<ServerSseMessage>>,
    /// How many there have been, for those who wait for one more.
    count: watch::Sender<usize>,
    ended: CancellationToken,
}

impl Log {
    /// Remembers an event, and forgets the oldest beyond `most`.
    fn push(&self, event: ServerSseMessage, most: usize) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push_back(event);
        if events.len() > most {
            events.pop_front();
        }
        self.count.send_modify(|count| *count += 1);
    }

    /// The event that was number `index` of all, if it is still remembered.
    fn at(&self, index: usize) -> Option<ServerSseMessage> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = *self.count.borrow() - events.len();
        events.get(index.checked_sub(forgotten)?).cloned()
    }

    /// The place after the event with this id.
    fn after(&self, id: &str) -> Option<usize> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = *self.count.borrow() - events.len();
        events.iter().position(|event| event.event_id.as_deref() == Some(id)).map(|at| forgotten + at + 1)
    }

    fn bytes(&self) -> usize {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).iter().map(size).sum()
    }
}

fn size(event: &ServerSseMessage) -> usize {
    event.message.as_deref().and_then(|message| serde_json::to_vec(message).ok()).map_or(0, |bytes| bytes.len())
}

/// An event's id is `index/stream`.
fn stream_of(id: &str) -> Option<&str> {
    id.split_once('/').map(|(_, stream)| stream)
}

impl Abandoned {
    /// Passes a stream on to its reader, remembering what it carried for as long as it runs.
    pub(crate) fn watch<S>(
        &self,
        session: SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    {
        let log = Log { events: Mutex::default(), count: watch::Sender::new(0), ended: CancellationToken::new() };
        Watched { inner: Some(Box::pin(stream)), log: Arc::new(log), session, shelf: self.clone() }
    }

    /// The rest of an abandoned stream of this session, from the event after `last` on.
    pub(crate) fn resume(&self, session: &SessionId, last: &str) -> Option<ReceiverStream<ServerSseMessage>> {
        let key = (session.clone(), stream_of(last)?.to_owned());
        let log = self.logs.get(&key)?.clone();
        let mut next = log.after(last)?;
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(async move {
            let mut count = log.count.subscribe();
            loop {
                while let Some(event) = log.at(next) {
                    next += 1;
                    if sender.send(event).await.is_err() {
                        return;
                    }
                }
                tokio::select! {
                    changed = count.wait_for(|count| *count > next) => if changed.is_err() { return },
                    () = log.ended.cancelled() => if log.at(next).is_none() { return },
                }
            }
        });
        Some(ReceiverStream::new(receiver))
    }

    /// Reads an abandoned stream to its end and keeps it for a while, if there is room for it.
    async fn read_on(self, key: Key, log: Arc<Log>, mut stream: Events) {
        if self.logs.iter().filter(|kept| kept.key().0 == key.0).count() >= MOST {
            return;
        }
        let mut taken = Taken { bytes: self.bytes.clone(), own: 0 };
        if !taken.grow(log.bytes()) {
            return;
        }
        self.logs.insert(key.clone(), log.clone());
        while let Some(event) = stream.next().await {
            if !taken.grow(size(&event)) {
                break;
            }
            log.push(event, usize::MAX);
        }
        log.ended.cancel();
        tokio::time::sleep(KEPT).await;
        self.logs.remove(&key);
    }
}

/// A stream's part of the room, given back when it goes.
struct Taken {
    bytes: Arc<AtomicUsize>,
    own: usize,
}

impl Taken {
    fn grow(&mut self, by: usize) -> bool {
        self.own += by;
        self.bytes.fetch_add(by, Ordering::Relaxed) + by <= ROOM
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.own, Ordering::Relaxed);
    }
}

type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

struct Watched {
    /// Gone once the stream has ended.
    inner: Option<Events>,
    log: Arc<Log>,
    session: SessionId,
    shelf: Abandoned,
}

impl Stream for Watched {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let event = std::task::ready!(inner.poll_next_unpin(context));
        match &event {
            Some(event) => self.log.push(event.clone(), RECENT),
            None => self.inner = None,
        }
        Poll::Ready(event)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(stream) = self.inner.take() else { return };
        let last = self.log.count.borrow().checked_sub(1).and_then(|last| self.log.at(last));
        let named = last.and_then(|event| event.event_id).and_then(|id| stream_of(&id).map(str::to_owned));
        // Without an id the reader has nothing to come back with.
        let (Some(name), Ok(runtime)) = (named, tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(self.shelf.clone().read_on((self.session.clone(), name), self.log.clone(), stream));
    }
}
