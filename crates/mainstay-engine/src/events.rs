//! Those who listen hear what happens; a slow listener misses, and never holds up a call.
//!
//! Changes and calls travel apart: those who wait for a list to change are many, and are not woken by every call.

use std::sync::Arc;

use mainstay_core::{Clock, Event};
use tokio::sync::broadcast;

use crate::feed::Feed;

const KEPT: usize = 1024;

#[derive(Clone)]
pub struct Events {
    changes: broadcast::Sender<Event>,
    calls: broadcast::Sender<Event>,
    feed: Arc<Feed>,
}

impl Events {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let feed = Arc::new(Feed::new(clock));
        Self { changes: broadcast::Sender::new(KEPT), calls: broadcast::Sender::new(KEPT), feed }
    }

    pub fn publish(&self, event: Event) {
        self.feed.hear(&event);
        let channel = match event {
            Event::Called { .. } => &self.calls,
            Event::ToolsChanged | Event::PromptsChanged | Event::ResourcesChanged | Event::ResourceUpdated { .. } => {
                &self.changes
            }
        };
        // Nobody listening is not an error.
        let _ = channel.send(event);
    }

    /// Lists and resources that changed.
    pub fn changes(&self) -> broadcast::Receiver<Event> {
        self.changes.subscribe()
    }

    /// Calls that came to their end.
    pub fn calls(&self) -> broadcast::Receiver<Event> {
        self.calls.subscribe()
    }

    /// Saves building an event nobody would hear.
    pub(crate) fn anyone_hears_calls(&self) -> bool {
        self.calls.receiver_count() > 0 || self.feed.records()
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }
}
