//! Resumable response streams: when a client loses its connection, its stream is read on in its place, and replayed when
//! the client reconnects with the id of the last event it received (`Last-Event-ID`).
//!
//! The SDK forgets a stream with its last event; a call whose client was cut off would lose its reply.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use dashmap::DashMap;
use futures::{Stream, StreamExt};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

/// How long a finished stream can be resumed.
const KEPT: Duration = Duration::from_mins(1);

/// The most abandoned streams of one session; a further one is dropped.
const MAX_STREAMS: usize = 16;

/// The most memory of all abandoned streams together, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Events remembered of a stream that has its reader: those that may be in transit when the connection breaks.
const RECENT: usize = 64;

/// A session and the name of one of its streams, which is part of each event's id.
type Key = (SessionId, String);

/// A response stream of the SDK.
type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The streams that can be resumed.
#[derive(Clone, Default)]
pub(super) struct AbandonedStreams {
    logs: Arc<DashMap<Key, watch::Sender<EventLog>>>,
    /// What all of them hold, in bytes.
    bytes: Arc<AtomicUsize>,
}

/// The last events of a stream. It lives in a watch channel, through which a resumed reader waits for the next one.
#[derive(Default)]
struct EventLog {
    events: VecDeque<ServerSseMessage>,
    /// How many events before these have been removed.
    removed: usize,
    ended: bool,
}

impl EventLog {
    /// Adds an event, and removes the oldest beyond `limit`.
    fn push(&mut self, event: ServerSseMessage, limit: usize) {
        self.events.push_back(event);
        if self.events.len() > limit {
            self.events.pop_front();
            self.removed += 1;
        }
    }

    /// The event with this index in the whole stream, if it is still in the log.
    fn at(&self, index: usize) -> Option<&ServerSseMessage> {
        self.events.get(index.checked_sub(self.removed)?)
    }

    /// The index after the event with this id.
    fn after(&self, id: &str) -> Option<usize> {
        let position = self.events.iter().position(|event| event.event_id.as_deref() == Some(id));
        position.map(|position| self.removed + position + 1)
    }
}

/// The memory an event takes, measured as JSON.
fn size(event: &ServerSseMessage) -> usize {
    event.message.as_deref().and_then(|message| serde_json::to_vec(message).ok()).map_or(0, |bytes| bytes.len())
}

/// The stream's name in an event's id, which the SDK writes as `index/stream`.
fn stream_of(id: &str) -> Option<&str> {
    id.split_once('/').map(|(_, stream)| stream)
}

impl AbandonedStreams {
    /// Passes a stream on to its reader and logs its events, so that it can be resumed if the reader goes away.
    pub(super) fn watch(&self, session: SessionId, stream: Events) -> WatchedStream {
        let log = watch::Sender::new(EventLog::default());
        WatchedStream { inner: Some(stream), log, session, abandoned: self.clone() }
    }

    /// The rest of an abandoned stream of this session, from the event after `last` on.
    pub(super) fn resume(&self, session: &SessionId, last: &str) -> Option<ReceiverStream<ServerSseMessage>> {
        let key = (session.clone(), stream_of(last)?.to_owned());
        let mut log = self.logs.get(&key)?.subscribe();
        let mut next = log.borrow().after(last)?;
        // A short queue: what a slow reader has not taken yet stays in the log, where its memory is counted.
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(async move {
            loop {
                // The log ends without another event if its memory limit was reached.
                let event = match log.wait_for(|log| log.at(next).is_some() || log.ended).await {
                    Ok(log) => log.at(next).cloned(),
                    Err(_) => None,
                };
                let Some(event) = event else { return };
                next += 1;
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        });
        Some(ReceiverStream::new(receiver))
    }

    /// Reads an abandoned stream to its end and keeps it for a while, within the limits.
    async fn read_on(self, key: Key, log: watch::Sender<EventLog>, mut stream: Events) {
        if self.logs.iter().filter(|kept| kept.key().0 == key.0).count() >= MAX_STREAMS {
            return;
        }
        let mut memory = MemoryShare { total: self.bytes.clone(), own: 0 };
        if !memory.grow(log.borrow().events.iter().map(size).sum()) {
            return;
        }
        // Visible from here on: a client that reconnects finds what is logged, and waits for the rest.
        self.logs.insert(key.clone(), log.clone());
        while let Some(event) = stream.next().await {
            if !memory.grow(size(&event)) {
                break;
            }
            log.send_modify(|log| log.push(event, usize::MAX));
        }
        log.send_modify(|log| log.ended = true);
        tokio::time::sleep(KEPT).await;
        self.logs.remove(&key);
    }
}

/// One stream's part of the memory of all abandoned streams; dropping it gives the memory back.
struct MemoryShare {
    total: Arc<AtomicUsize>,
    own: usize,
}

impl MemoryShare {
    /// False if the limit is exceeded.
    fn grow(&mut self, by: usize) -> bool {
        self.own += by;
        self.total.fetch_add(by, Ordering::Relaxed) + by <= MAX_BYTES
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.total.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// A stream that is being read. If it is dropped before its end, its reader went away.
pub(super) struct WatchedStream {
    /// `None` once the stream has ended.
    inner: Option<Events>,
    log: watch::Sender<EventLog>,
    session: SessionId,
    abandoned: AbandonedStreams,
}

impl Stream for WatchedStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let event = std::task::ready!(inner.poll_next_unpin(context));
        match &event {
            // Before it is passed on: the connection may break while it is being written.
            Some(event) => self.log.send_modify(|log| log.push(event.clone(), RECENT)),
            None => self.inner = None,
        }
        Poll::Ready(event)
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        let Some(stream) = self.inner.take() else { return };
        let last = self.log.borrow().events.back().and_then(|event| event.event_id.clone());
        // Without the id of an event the client cannot ask for the rest.
        let Some(name) = last.and_then(|id| stream_of(&id).map(str::to_owned)) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(self.abandoned.clone().read_on((self.session.clone(), name), self.log.clone(), stream));
    }
}
