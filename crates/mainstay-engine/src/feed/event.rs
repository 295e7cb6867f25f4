//! Events of the feed, as they are stored and as listeners receive them.

use mainstay_core::{Called, Error, Event, Result};
use mainstay_store::FeedPage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An event as it is stored, without its number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredEvent {
    event: String,
    /// The principal that may see it; without one everybody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    data: Value,
}

/// An event with its number. The numbers of all events rise without gaps, on all replicas together.
#[derive(Debug, Clone)]
pub struct FeedEvent {
    pub id: i64,
    pub event: String,
    pub data: Value,
    pub(super) of: Option<String>,
}

/// Events that were stored together.
pub(super) struct Page {
    /// The number of the last of them.
    pub(super) last: i64,
    pub(super) events: Vec<FeedEvent>,
}

impl StoredEvent {
    /// The event as contract 001 describes it; `None` for one that is not part of the feed.
    pub(super) fn new(event: &Event, at: &str) -> Option<Self> {
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
        Some(Self { event: event.to_owned(), of: of.map(ToString::to_string), data })
    }

    /// Tells listeners that events were dropped because the buffer was full.
    pub(super) fn dropped(count: u64) -> Self {
        let data = json!({ "count": count, "reason": "more events happened at once than could be stored" });
        Self { event: "missed".into(), of: None, data }
    }
}

impl Page {
    pub(super) fn parse(page: &FeedPage) -> Result<Self> {
        let stored: Vec<StoredEvent> = serde_json::from_str(&page.events).map_err(Error::internal)?;
        let numbered = (page.first..).zip(stored);
        let events = numbered.map(|(id, StoredEvent { event, of, data })| FeedEvent { id, event, data, of }).collect();
        Ok(Self { last: page.last, events })
    }
}
