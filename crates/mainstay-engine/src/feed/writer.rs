//! The task that stores events and makes them available to listeners.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_core::{Error, Result};

use super::event::Page;
use super::state::{Feed, WriterState};
use crate::Engine;

/// Events stored as one page.
const PAGE: usize = 500;

/// How long to wait for more events before a page is written.
const GATHER: Duration = Duration::from_millis(20);

/// How often the store is read for events of other replicas.
const POLL: Duration = Duration::from_secs(1);

/// How often the store is told that somebody still listens.
const MARK_MS: i64 = 60_000;

impl Engine {
    /// Stores events and delivers them to listeners, for as long as the server runs. The binary spawns it once.
    pub async fn run_feed(&self) {
        let mut every = tokio::time::interval(POLL);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                // Events come in bursts; a short wait turns a burst into one page and one transaction.
                () = self.feed().wake.notified() => tokio::time::sleep(GATHER).await,
            }
            if let Err(error) = self.update_feed().await {
                tracing::warn!(detail = error.detail, "events cannot be stored or read");
            }
        }
    }

    /// Stores the last events when the server stops.
    pub(crate) async fn finish_feed(&self) {
        let mut writer = self.feed().writer.lock().await;
        writer.finished = true;
        let written = async {
            self.start_feed(&mut writer).await?;
            self.store_events().await
        };
        if let Err(error) = written.await {
            tracing::warn!(detail = error.detail, "the last events could not be stored");
        }
    }

    /// One round: stores the buffer, tells the store that somebody listens, and loads what is new.
    async fn update_feed(&self) -> Result<()> {
        let feed = self.feed();
        let mut writer = feed.writer.lock().await;
        if writer.finished {
            return Ok(());
        }
        self.start_feed(&mut writer).await?;
        self.store_events().await?;
        let now = self.clock().now_ms();
        let has_listeners = feed.listeners.load(Ordering::Relaxed) > 0;
        // Other replicas learn from the mark that they have to record; it is renewed once a minute.
        let head = if has_listeners && now.saturating_sub(writer.marked_ms) >= MARK_MS {
            writer.marked_ms = now;
            self.0.store.feed().listen(now).await?
        } else {
            self.0.store.feed().head().await?
        };
        feed.set_last_listened(head);
        if has_listeners {
            self.load_new_pages().await;
        } else {
            feed.clear_recent(head);
        }
        Ok(())
    }

    /// Asks the store once whether somebody listened within the hour, perhaps to the process before this one. If nobody
    /// did, the events buffered until now are discarded.
    pub(super) async fn start_feed(&self, writer: &mut WriterState) -> Result<()> {
        if !writer.started {
            self.feed().set_last_listened(self.0.store.feed().head().await?);
            writer.started = true;
            if !self.feed().is_recording() {
                drop(self.feed().take_buffer());
            }
        }
        Ok(())
    }

    /// Stores the buffer in pages. What cannot be stored is counted, so that listeners learn of the gap.
    async fn store_events(&self) -> Result<()> {
        let mut events = self.feed().take_buffer();
        while !events.is_empty() {
            let rest = events.split_off(events.len().min(PAGE));
            let page = serde_json::to_string(&events).map_err(Error::internal)?;
            let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
            if let Err(error) = self.0.store.feed().append(page, count, self.clock().now_ms()).await {
                self.feed().count_dropped(events.len() + rest.len());
                return Err(error.into());
            }
            events = rest;
        }
        Ok(())
    }

    /// Loads the pages stored since the last time, by this process and by other replicas, and wakes the listeners.
    async fn load_new_pages(&self) {
        let feed = self.feed();
        loop {
            let until = feed.recent.lock().until;
            let pages = match self.0.store.feed().after(until, 16).await {
                Ok(pages) => pages,
                Err(error) => return tracing::warn!(%error, "the feed cannot be read"),
            };
            let Some(last) = pages.last().map(|page| page.last) else { return };
            for page in &pages {
                let first = page.first;
                match Page::parse(page) {
                    Ok(page) => feed.add_recent(page),
                    Err(error) => tracing::error!(detail = error.detail, first, "a page of the feed is not readable"),
                }
            }
            // Also past a page that could not be parsed: it must not be read again and again.
            feed.recent.lock().until = last;
            feed.newest.send_replace(last);
        }
    }

    /// The feed's state in memory.
    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.events().feed
    }
}
