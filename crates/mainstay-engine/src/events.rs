//! Publishes events inside the process. A slow receiver loses events; it never holds up a call.
//!
//! Changes and calls have a channel each: every session waits for changes, and none of them should wake up for each call.

use std::sync::Arc;

use mainstay_core::{Clock, Event};
use tokio::sync::broadcast;

use crate::feed::Feed;

/// Events a receiver may be behind before it loses the oldest.
const CAPACITY: usize = 1024;

#[derive(Clone)]
pub struct Events {
    changes: broadcast::Sender<Event>,
    calls: broadcast::Sender<Event>,
    feed: Arc<Feed>,
}

impl Events {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let feed = Arc::new(Feed::new(clock));
        Self { changes: broadcast::Sender::new(CAPACITY), calls: broadcast::Sender::new(CAPACITY), feed }
    }

    pub fn publish(&self, event: Event) {
        self.feed.record(&event);
        let channel = if matches!(event, Event::Called { .. }) { &self.calls } else { &self.changes };
        // Fails if there is no receiver, which is not an error.
        let _ = channel.send(event);
    }

    /// Changes of lists and resources.
    pub fn changes(&self) -> broadcast::Receiver<Event> {
        self.changes.subscribe()
    }

    /// Calls that ended.
    pub fn calls(&self) -> broadcast::Receiver<Event> {
        self.calls.subscribe()
    }

    /// False if an event about a call would reach nobody, so that it need not be built.
    pub(crate) fn has_call_receivers(&self) -> bool {
        self.calls.receiver_count() > 0 || self.feed.is_recording()
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }
}
