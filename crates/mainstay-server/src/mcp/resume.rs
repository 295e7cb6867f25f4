//! Streams whose reader has gone away: read on in its place, and replayed when it comes back with the last id it saw.

use std::pin::Pin;
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

/// Past this many abandoned streams the newest are not kept: a client that only ever leaves gets nothing back.
const MOST: usize = 4096;

/// A session and one of its streams, as the stream's event ids name it.
type Key = (SessionId, String);

#[derive(Clone, Default)]
pub(crate) struct Abandoned(Arc<DashMap<Key, Arc<Log>>>);

/// What a stream has carried so far.
struct Log {
    events: Mutex<Vec<ServerSseMessage>>,
    /// How many there are, for those who wait for one more.
    count: watch::Sender<usize>,
    ended: CancellationToken,
}

impl Log {
    fn push(&self, event: ServerSseMessage) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(event);
        self.count.send_replace(events.len());
    }

    fn at(&self, index: usize) -> Option<ServerSseMessage> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }

    /// The place after the event with this id.
    fn after(&self, id: &str) -> Option<usize> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().position(|event| event.event_id.as_deref() == Some(id)).map(|at| at + 1)
    }
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
        let log = self.0.get(&key)?.clone();
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

    /// Reads an abandoned stream to its end and keeps it for a while.
    async fn read_on(self, key: Key, log: Arc<Log>, mut stream: Events) {
        if self.0.len() >= MOST {
            return;
        }
        self.0.insert(key.clone(), log.clone());
        while let Some(event) = stream.next().await {
            log.push(event);
        }
        log.ended.cancel();
        tokio::time::sleep(KEPT).await;
        self.0.remove(&key);
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
            Some(event) => self.log.push(event.clone()),
            None => self.inner = None,
        }
        Poll::Ready(event)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(stream) = self.inner.take() else { return };
        let named = self.log.at(0).and_then(|event| event.event_id).and_then(|id| stream_of(&id).map(str::to_owned));
        // Without an id the reader has nothing to come back with.
        let (Some(name), Ok(runtime)) = (named, tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(self.shelf.clone().read_on((self.session.clone(), name), self.log.clone(), stream));
    }
}
