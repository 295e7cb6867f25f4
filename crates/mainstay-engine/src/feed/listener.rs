//! Somebody who listens.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainstay_core::{Caller, Error, Result, Scope};
use tokio::sync::watch;

use super::{FeedEvent, Page, read};
use crate::Engine;

impl Engine {
    /// Begins to listen: from now on, or after the event with this number.
    pub async fn listen(&self, caller: &Caller, after: Option<i64>) -> Result<Listener> {
        let feed = self.feed().clone();
        self.begin_feed(&mut *feed.turn.lock().await).await?;
        let head = self.store().feed().listen(self.clock().now_ms()).await?;
        feed.listened(head);
        feed.listeners.fetch_add(1, Ordering::Relaxed);
        feed.wake.notify_one();
        let mut listener = Listener {
            told: feed.told.subscribe(),
            engine: self.clone(),
            position: head.seq,
            missed: None,
            principal: caller.principal.to_string(),
            everything: caller.scopes.allows(Scope::Admin),
        };
        if let Some(after) = after {
            listener.resume(after).await?;
        }
        Ok(listener)
    }
}

/// What a listener is told next.
#[derive(Debug)]
pub enum Heard {
    Events(Vec<FeedEvent>),
    /// Events after the first number and up to the second are gone, if there were any.
    Missed {
        after: i64,
        until: i64,
    },
}

/// Somebody who listens. It holds no queue: it reads at its own pace from what is kept.
pub struct Listener {
    engine: Engine,
    told: watch::Receiver<i64>,
    position: i64,
    missed: Option<(i64, i64)>,
    principal: String,
    everything: bool,
}

impl Listener {
    /// The number of the last event that was told, or passed over.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Goes back to just after the event with this number.
    pub async fn resume(&mut self, after: i64) -> Result<()> {
        let head = self.engine.store().feed().head().await?;
        let known = (head.floor..=head.seq).contains(&after);
        self.missed = (!known).then_some((after, head.floor));
        // A number that was never given says nothing about what was heard: everything that is there is told.
        self.position = if known { after } else { head.floor };
        Ok(())
    }

    /// Waits for the next events this listener may hear. Nothing is lost if the waiting is given up.
    pub async fn next(&mut self) -> Result<Heard> {
        if let Some((after, until)) = self.missed.take() {
            return Ok(Heard::Missed { after, until });
        }
        loop {
            let position = self.position;
            let newest = *self.told.wait_for(|told| *told > position).await.map_err(Error::internal)?;
            let page = match self.engine.feed().recent_after(position) {
                Some(page) => page,
                None => match self.look_up(position).await? {
                    Found::Page(page) => page,
                    Found::Gone { floor } => {
                        self.position = floor;
                        return Ok(Heard::Missed { after: position, until: floor });
                    }
                    Found::Nothing => {
                        self.position = newest;
                        continue;
                    }
                },
            };
            self.position = page.last;
            let events: Vec<_> =
                page.events.iter().filter(|event| event.id > position && self.may_hear(event)).cloned().collect();
            if !events.is_empty() {
                return Ok(Heard::Events(events));
            }
        }
    }

    async fn look_up(&self, position: i64) -> Result<Found> {
        let feed = self.engine.store().feed();
        let pages = feed.after(position, 1).await?;
        let floor = feed.head().await?.floor;
        if position < floor {
            return Ok(Found::Gone { floor });
        }
        match pages.first() {
            Some(page) => Ok(Found::Page(Arc::new(read(page)?))),
            None => Ok(Found::Nothing),
        }
    }

    fn may_hear(&self, event: &FeedEvent) -> bool {
        self.everything || event.of.as_deref().is_none_or(|of| of == self.principal)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.engine.feed().listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

enum Found {
    Page(Arc<Page>),
    Gone { floor: i64 },
    Nothing,
}
