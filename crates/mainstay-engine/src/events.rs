//! Publishes changes of lists and resources inside the process. A slow receiver loses events; it never holds up a call.

use std::sync::Arc;

use mainstay_core::{Clock, Event};
use tokio::sync::broadcast;

use crate::feed::Feed;

/// Events a receiver may be behind before it loses the oldest.
const CAPACITY: usize = 1024;

#[derive(Clone)]
pub struct Events {
    changes: broadcast::Sender<Event>,
    pub(crate) feed: Arc<Feed>,
}

impl Events {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let feed = Arc::new(Feed::new(clock));
        Self { changes: broadcast::Sender::new(CAPACITY), feed }
    }

    pub fn publish(&self, event: Event) {
        self.feed.record_change(&event);
        // Fails if there is no receiver, which is not an error.
        let _ = self.changes.send(event);
    }

    /// Changes of lists and resources.
    pub fn changes(&self) -> broadcast::Receiver<Event> {
        self.changes.subscribe()
    }
}
