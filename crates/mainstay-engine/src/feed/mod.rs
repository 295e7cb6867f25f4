//! What happens, told in one order to whoever listens: now, or within the hour after they went away.
//!
//! Events are gathered here without ever holding up a call, numbered and kept by the store, and told from there, so that
//! every replica tells the same and a restarted server goes on where the last one ended.

mod listener;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Called, Clock, Error, Event, Result, iso8601};
use mainstay_store::{FEED_MEMORY_MS, FeedHead, FeedPage, NewFeedPage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::Engine;

pub use listener::{Heard, Listener};

/// Events waiting to be written; beyond it they are counted and left out.
const WAITING: usize = 10_000;

/// Events written as one page.
const PAGE: usize = 500;

/// Pages held in memory for those who keep up; others read from the store.
const RECENT: usize = 64;

/// How long events wait for company.
const GATHER: Duration = Duration::from_millis(20);

/// How often the store is asked what other replicas wrote.
const LOOK: Duration = Duration::from_secs(1);

/// How often the store is told that somebody still listens.
const MARK_MS: i64 = 60_000;

/// An event as it is kept. `of` is the principal it belongs to; without one it is everybody's.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    data: Value,
}

#[derive(Debug, Clone)]
pub struct FeedEvent {
    pub id: i64,
    pub event: String,
    pub data: Value,
    of: Option<String>,
}

pub(crate) struct Feed {
    clock: Arc<dyn Clock>,
    waiting: Mutex<Waiting>,
    wake: Notify,
    listeners: AtomicUsize,
    recorded_until_ms: AtomicI64,
    recent: Mutex<Recent>,
    /// The newest number that can be read.
    told: watch::Sender<i64>,
    /// Held while a turn is taken: there is one at a time.
    turn: tokio::sync::Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    /// It is known whether anybody listened before this server was there.
    begun: bool,
    /// When the store was last told that somebody listens.
    marked_ms: i64,
    /// The last turn has been taken.
    over: bool,
}

#[derive(Default)]
struct Waiting {
    events: Vec<Kept>,
    left_out: u64,
}

/// Everything after `from`, up to `until`.
#[derive(Default)]
struct Recent {
    from: i64,
    until: i64,
    pages: VecDeque<Arc<Page>>,
}

struct Page {
    last: i64,
    events: Vec<FeedEvent>,
}

impl Feed {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            waiting: Mutex::default(),
            wake: Notify::new(),
            listeners: AtomicUsize::new(0),
            // Until the store has said whether somebody listened lately, it is assumed.
            recorded_until_ms: AtomicI64::new(i64::MAX),
            recent: Mutex::default(),
            told: watch::Sender::new(0),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Whether anybody listens, or has within the hour.
    pub(crate) fn records(&self) -> bool {
        self.clock.now_ms() < self.recorded_until_ms.load(Ordering::Relaxed)
    }

    fn listened(&self, head: FeedHead) {
        self.recorded_until_ms.store(head.listened_ms.saturating_add(FEED_MEMORY_MS), Ordering::Relaxed);
    }

    pub(crate) fn hear(&self, event: &Event) {
        if !self.records() {
            return;
        }
        let Some(kept) = kept(event, &iso8601(self.clock.now_ms())) else { return };
        let mut waiting = lock(&self.waiting);
        if waiting.events.len() < WAITING {
            waiting.events.push(kept);
        } else {
            waiting.left_out += 1;
        }
        drop(waiting);
        self.wake.notify_one();
    }

    fn take_waiting(&self) -> Vec<Kept> {
        let Waiting { mut events, left_out } = std::mem::take(&mut *lock(&self.waiting));
        if left_out > 0 {
            events.push(missed_many(left_out));
        }
        events
    }

    /// The page with the first event after this number, if it is in memory; otherwise the store has to be asked.
    fn recent_after(&self, position: i64) -> Option<Arc<Page>> {
        let recent = lock(&self.recent);
        if position < recent.from {
            return None;
        }
        recent.pages.iter().find(|page| page.last > position).cloned()
    }

    fn put(&self, page: Page) {
        let mut recent = lock(&self.recent);
        recent.until = page.last;
        recent.pages.push_back(Arc::new(page));
        if recent.pages.len() > RECENT
            && let Some(old) = recent.pages.pop_front()
        {
            recent.from = old.last;
        }
    }
}

fn missed_many(count: u64) -> Kept {
    let data = json!({ "count": count, "reason": "more happened at once than could be written down" });
    Kept { event: "missed".into(), of: None, data }
}

fn kept(event: &Event, at: &str) -> Option<Kept> {
    let (event, of, data) = match event {
        Event::ResourceUpdated { uri, change } => {
            ("resource_updated", None, json!({"uri": uri, "action": change.as_str(), "timestamp": at}))
        }
        Event::Called { what: Called::Tool, shown, principal, outcome, .. } => {
            let result = if *outcome == "ok" { "success" } else { outcome };
            ("tool_executed", Some(principal), json!({"tool": shown, "result": result, "timestamp": at}))
        }
        Event::Called { what: Called::Prompt(arguments), shown, principal, outcome: "ok", .. } => {
            ("prompt_used", Some(principal), json!({"prompt": shown, "arguments": arguments, "timestamp": at}))
        }
        Event::Called { what: Called::Prompt(_) | Called::Resource, .. }
        | Event::ToolsChanged
        | Event::PromptsChanged
        | Event::ResourcesChanged => return None,
    };
    Some(Kept { event: event.to_owned(), of: of.map(ToString::to_string), data })
}

fn read(page: &FeedPage) -> Result<Page> {
    let kept: Vec<Kept> = serde_json::from_str(&page.events).map_err(Error::internal)?;
    let numbered = (page.first..).zip(kept);
    let events = numbered.map(|(id, Kept { event, of, data })| FeedEvent { id, event, data, of }).collect();
    Ok(Page { last: page.last, events })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// Writes down what happens and tells it, for as long as the server runs. Nobody hears anything without this.
    pub async fn keep_feed(&self) {
        let mut every = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                () = self.feed().wake.notified() => tokio::time::sleep(GATHER).await,
            }
            if let Err(error) = self.feed_turn().await {
                tracing::warn!(detail = error.detail, "what happens could not be told to those who listen");
            }
        }
    }

    /// Leaves nothing unwritten.
    pub(crate) async fn finish_feed(&self) {
        let mut turn = self.feed().turn.lock().await;
        turn.over = true;
        let written = match self.begin_feed(&mut turn).await {
            Ok(()) => self.write_events().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(detail = error.detail, "the last events could not be written");
        }
    }

    async fn feed_turn(&self) -> Result<()> {
        let feed = self.feed();
        let mut turn = feed.turn.lock().await;
        if turn.over {
            return Ok(());
        }
        self.begin_feed(&mut turn).await?;
        self.write_events().await?;
        let now = self.clock().now_ms();
        let heard = feed.listeners.load(Ordering::Relaxed) > 0;
        let head = if heard && now.saturating_sub(turn.marked_ms) >= MARK_MS {
            turn.marked_ms = now;
            self.store().feed().listen(now).await?
        } else {
            self.store().feed().head().await?
        };
        feed.listened(head);
        if heard {
            self.catch_up().await
        } else {
            self.rest(head)
        }
        Ok(())
    }

    /// Learns whether somebody listened within the hour, perhaps to a server before this one; if nobody did, what was
    /// gathered meanwhile is for nobody.
    async fn begin_feed(&self, turn: &mut Turn) -> Result<()> {
        if !turn.begun {
            self.feed().listened(self.store().feed().head().await?);
            turn.begun = true;
            if !self.feed().records() {
                drop(self.feed().take_waiting());
            }
        }
        Ok(())
    }

    async fn write_events(&self) -> Result<()> {
        let mut waiting = self.feed().take_waiting();
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(PAGE));
            let events = serde_json::to_string(&waiting).map_err(Error::internal)?;
            let page = NewFeedPage {
                events,
                count: u32::try_from(waiting.len()).unwrap_or(u32::MAX),
                now_ms: self.clock().now_ms(),
            };
            if let Err(error) = self.store().feed().append(page).await {
                lock(&self.feed().waiting).left_out += (waiting.len() + rest.len()) as u64;
                return Err(error.into());
            }
            waiting = rest;
        }
        Ok(())
    }

    /// Brings what is new, from here and from other replicas, to those who listen.
    async fn catch_up(&self) {
        let feed = self.feed();
        loop {
            let until = lock(&feed.recent).until;
            let pages = match self.store().feed().after(until, 16).await {
                Ok(pages) => pages,
                Err(error) => return tracing::warn!(%error, "the feed cannot be read"),
            };
            let Some(last) = pages.last().map(|page| page.last) else { return };
            for page in &pages {
                match read(page) {
                    Ok(page) => feed.put(page),
                    Err(error) => tracing::error!(detail = error.detail, first = page.first, "a page cannot be read"),
                }
            }
            lock(&feed.recent).until = last;
            feed.told.send_replace(last);
        }
    }

    /// Nobody listens: nothing is held in memory, and whoever comes next starts from here.
    fn rest(&self, head: FeedHead) {
        *lock(&self.feed().recent) = Recent { from: head.seq, until: head.seq, pages: VecDeque::new() };
        self.feed().told.send_replace(head.seq);
    }

    fn feed(&self) -> &Arc<Feed> {
        self.events().feed()
    }
}
