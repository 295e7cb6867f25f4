//! Events of the feed, as they are stored and as listeners receive them.

use mainstay_core::{Error, Event, Result};
use mainstay_store::FeedPage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An event. The numbers of all events rise without gaps, on all replicas together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FeedEvent {
    /// Assigned by the store; 0 until then. The stored form does not repeat it: a page has the number of its first event.
    #[serde(skip)]
    pub id: i64,
    pub event: String,
    /// The principal that may see it; without one everybody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<String>,
    pub data: Value,
}

/// What kind of target was called.
pub(crate) enum Called {
    Tool,
    Resource,
    /// With its arguments as they may be shown: without what looks like a secret, and cut.
    Prompt(Value),
}

/// Events that were stored together.
pub(super) struct Page {
    /// The number of the last of them.
    pub(super) last: i64,
    pub(super) events: Vec<FeedEvent>,
}

impl FeedEvent {
    /// The event about a change, as contract 001 describes it; `None` for one that is not part of the feed.
    pub(super) fn of_change(event: &Event, at: &str) -> Option<Self> {
        let Event::ResourceUpdated { uri, change } = event else { return None };
        let data = json!({"uri": uri, "action": change.as_str(), "timestamp": at});
        Some(Self { id: 0, event: "resource_updated".into(), of: None, data })
    }

    /// The event about a call that ran; `outcome` is "ok", "failed" or the kind of its error.
    pub(super) fn of_call(called: &Called, shown: &str, principal: &str, outcome: &str, at: &str) -> Option<Self> {
        let (event, data) = match called {
            Called::Tool => {
                let result = if outcome == "ok" { "success" } else { outcome };
                ("tool_executed", json!({"tool": shown, "result": result, "timestamp": at}))
            }
            Called::Prompt(arguments) if outcome == "ok" => {
                ("prompt_used", json!({"prompt": shown, "arguments": arguments, "timestamp": at}))
            }
            Called::Prompt(_) | Called::Resource => return None,
        };
        Some(Self { id: 0, event: event.to_owned(), of: Some(principal.to_owned()), data })
    }

    /// Tells listeners that events were dropped because the buffer was full.
    pub(super) fn dropped(count: u64) -> Self {
        let data = json!({ "count": count, "reason": "more events happened at once than could be stored" });
        Self { id: 0, event: "missed".into(), of: None, data }
    }
}

impl Page {
    pub(super) fn parse(page: &FeedPage) -> Result<Self> {
        let mut events: Vec<FeedEvent> = serde_json::from_str(&page.events).map_err(Error::internal)?;
        for (event, id) in events.iter_mut().zip(page.first..) {
            event.id = id;
        }
        Ok(Self { last: page.last, events })
    }
}
