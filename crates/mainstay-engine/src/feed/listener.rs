//! A listener of the feed. It holds no queue: it remembers its position and reads at its own pace.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainstay_core::{Caller, Error, Result, Scope};
use tokio::sync::watch;

use super::event::{FeedEvent, Page};
use crate::Engine;

impl Engine {
    /// Starts to listen: from now on, or after the event with the number `after`.
    pub async fn listen(&self, caller: &Caller, after: Option<i64>) -> Result<Listener> {
        let feed = self.feed().clone();
        self.start_feed(&mut *feed.writer.lock().await).await?;
        let head = self.0.store.feed().listen(self.clock().now_ms()).await?;
        feed.set_last_listened(head);
        // From now on the writing task loads pages; it is woken so that the first one does not wait for the next poll.
        feed.listeners.fetch_add(1, Ordering::Relaxed);
        feed.wake.notify_one();
        let mut listener = Listener {
            newest: feed.newest.subscribe(),
            engine: self.clone(),
            position: head.seq,
            missed: None,
            principal: caller.principal.to_string(),
            sees_all: caller.scopes.allows(Scope::Admin),
        };
        if let Some(after) = after {
            listener.resume(after).await?;
        }
        Ok(listener)
    }
}

/// What a listener receives next.
#[derive(Debug)]
pub enum FeedUpdate {
    Events(Vec<FeedEvent>),
    /// Events with numbers above `after` and up to `until` are not available, if there were any.
    Missed {
        after: i64,
        until: i64,
    },
}

/// Receives events in order. A caller receives its own and those that belong to nobody; with the scope `admin`, all.
pub struct Listener {
    engine: Engine,
    newest: watch::Receiver<i64>,
    position: i64,
    /// A gap that the next update reports: after which number, and up to which.
    missed: Option<(i64, i64)>,
    principal: String,
    sees_all: bool,
}

impl Listener {
    /// The number of the last event that was delivered or skipped.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Continues after the event with this number.
    pub async fn resume(&mut self, after: i64) -> Result<()> {
        let head = self.engine.0.store.feed().head().await?;
        let known = (head.floor..=head.seq).contains(&after);
        self.missed = (!known).then_some((after, head.floor));
        // A number that was never assigned does not say what the client has, so it gets everything that is stored.
        self.position = if known { after } else { head.floor };
        Ok(())
    }

    /// Waits for the next events of this listener. Cancel-safe: a dropped future loses no event.
    pub async fn next(&mut self) -> Result<FeedUpdate> {
        if let Some((after, until)) = self.missed.take() {
            return Ok(FeedUpdate::Missed { after, until });
        }
        loop {
            let position = self.position;
            let newest = *self.newest.wait_for(|newest| *newest > position).await.map_err(Error::internal)?;
            let mut page = self.engine.feed().recent_after(position);
            if page.is_none() {
                let feed = self.engine.0.store.feed();
                page = feed.after(position, 1).await?.first().map(Page::parse).transpose()?.map(Arc::new);
                // Read after the page: if events expired in between, the listener learns of the gap.
                let floor = feed.head().await?.floor;
                if position < floor {
                    self.position = floor;
                    return Ok(FeedUpdate::Missed { after: position, until: floor });
                }
            }
            let Some(page) = page else {
                self.position = newest;
                continue;
            };
            // Moved past the whole page before filtering: events of others are skipped, not waited for again.
            self.position = page.last;
            let events: Vec<_> =
                page.events.iter().filter(|event| event.id > position && self.may_see(event)).cloned().collect();
            if !events.is_empty() {
                return Ok(FeedUpdate::Events(events));
            }
        }
    }

    /// Whether the event belongs to this listener's principal or to nobody.
    fn may_see(&self, event: &FeedEvent) -> bool {
        self.sees_all || event.of.as_deref().is_none_or(|of| of == self.principal)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.engine.feed().listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
