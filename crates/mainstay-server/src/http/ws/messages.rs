//! The JSON messages on `/ws`, in both directions.

use mainstay_engine::{Engine, FeedEvent};
use serde::Deserialize;
use serde_json::{Value, json};

/// The events that a client can choose from.
const EVENTS: [&str; 3] = ["tool_executed", "resource_updated", "prompt_used"];

/// The most names in one list of a filter.
const MAX_NAMES: usize = 200;

/// A message from a client: it selects events, continues after an event it has received, or both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientMessage {
    subscribe: Option<Filter>,
    /// The id of the last event the client has.
    resume: Option<String>,
}

/// The events a client receives: all of them unless it has subscribed to some.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    events: Option<Vec<String>>,
    /// By the names that events use.
    tools: Option<Vec<String>>,
}

/// What a message subscribes to, and after which event it continues. The error is the text to answer with.
pub(super) fn parse(text: &str, engine: &Engine) -> Result<(Option<Filter>, Option<i64>), String> {
    let form = "Send {\"subscribe\": {\"events\": […], \"tools\": […]}} or {\"resume\": \"ID\"}";
    let message = serde_json::from_str(text).map_err(|error| format!("{form}: {error}."))?;
    let ClientMessage { subscribe, resume } = message;
    if subscribe.is_none() && resume.is_none() {
        return Err(format!("{form}."));
    }
    let subscribe = subscribe.map(|filter| filter.checked(engine)).transpose()?;
    let resume = resume.map(|id| {
        id.parse().map_err(|_| format!("{id:?} is not the id of an event; send the \"id\" of one you received."))
    });
    Ok((subscribe, resume.transpose()?))
}

impl Filter {
    /// Rejects unknown events and long lists, and replaces each tool's name by the one that events use.
    fn checked(self, engine: &Engine) -> Result<Self, String> {
        let Self { events, tools } = self;
        if [&events, &tools].into_iter().flatten().any(|names| names.len() > MAX_NAMES) {
            return Err(format!("A subscription has at most {MAX_NAMES} names."));
        }
        if let Some(unknown) = events.iter().flatten().find(|event| !EVENTS.contains(&event.as_str())) {
            return Err(format!("There is no event {unknown:?}; the events are {}.", EVENTS.join(", ")));
        }
        let name_in_events = |name: String| engine.display_name(&name).unwrap_or(name);
        Ok(Self { events, tools: tools.map(|names| names.into_iter().map(name_in_events).collect()) })
    }

    /// Whether the client wants this event. Events that cannot be chosen, such as `missed`, are always sent.
    pub(super) fn wants(&self, event: &FeedEvent) -> bool {
        if !EVENTS.contains(&event.event.as_str()) {
            return true;
        }
        let includes = |names: &Option<Vec<String>>, name: &str| {
            names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
        };
        let tool = event.data.get("tool").and_then(Value::as_str);
        includes(&self.events, &event.event) && tool.is_none_or(|tool| includes(&self.tools, tool))
    }

    /// The confirmation of a subscription; `position` is the id of the last event before it.
    pub(super) fn confirmation(&self, position: i64) -> String {
        let data = json!({"events": self.events.as_deref().unwrap_or(&EVENTS.map(str::to_owned)), "tools": self.tools});
        json!({"event": "subscribed", "data": data, "id": position.to_string()}).to_string()
    }
}

pub(super) fn event(event: &FeedEvent) -> String {
    json!({"event": event.event, "data": event.data, "id": event.id.to_string()}).to_string()
}

/// Tells a client that the events between these two ids cannot be replayed.
pub(super) fn missed(after: i64, until: i64) -> String {
    let data = json!({
        "after": after.to_string(),
        "until": until.to_string(),
        "reason": "The events between these ids have expired or were not recorded. Read the current state instead.",
    });
    json!({"event": "missed", "data": data, "id": until.to_string()}).to_string()
}

pub(super) fn error(reason: &str) -> String {
    json!({"event": "error", "data": {"message": reason}}).to_string()
}
