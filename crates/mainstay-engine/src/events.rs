//! Those who listen hear what happens; a slow listener misses, and never holds up a call.

use mainstay_core::Event;
use tokio::sync::broadcast;

const KEPT: usize = 1024;

#[derive(Clone)]
pub struct Events(broadcast::Sender<Event>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl Events {
    pub fn publish(&self, event: Event) {
        // Nobody listening is not an error.
        let _ = self.0.send(event);
    }

    pub fn listen(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }

    /// Saves building an event nobody would hear.
    pub fn anyone_listens(&self) -> bool {
        self.0.receiver_count() > 0
    }
}
