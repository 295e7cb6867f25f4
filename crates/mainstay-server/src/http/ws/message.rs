//! What is said on the socket, in both directions.

use mainstay_engine::{Engine, FeedEvent};
use serde::Deserialize;
use serde_json::json;

/// What can be listened to.
const KINDS: [&str; 3] = ["tool_executed", "resource_updated", "prompt_used"];

/// The most names in a filter.
const MOST: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    subscribe: Option<Wanted>,
    #[serde(default)]
    resume: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    events: Option<Vec<String>>,
    #[serde(default)]
    tools: Option<Vec<String>>,
}

/// What a client says.
pub(super) struct Said {
    pub(super) subscribe: Option<Filter>,
    pub(super) resume: Option<i64>,
}

/// What a client wants to hear; everything unless it said so.
#[derive(Default)]
pub(super) struct Filter {
    events: Option<Vec<String>>,
    /// By the names people know them by.
    tools: Option<Vec<String>>,
}

impl Said {
    /// The reason is for the client.
    pub(super) fn read(text: &str, engine: &Engine) -> Result<Self, String> {
        let form = "Send {\"subscribe\": {\"events\": […], \"tools\": […]}} or {\"resume\": \"ID\"}";
        let raw: Raw = serde_json::from_str(text).map_err(|error| format!("{form}: {error}."))?;
        let resume = raw.resume.map(|id| {
            id.parse().map_err(|_| format!("{id:?} is not the id of an event; it is what came with one as \"id\"."))
        });
        let subscribe = raw.subscribe.map(|wanted| Filter::new(wanted, engine)).transpose()?;
        if subscribe.is_none() && resume.is_none() {
            return Err(format!("{form}."));
        }
        Ok(Self { subscribe, resume: resume.transpose()? })
    }
}

impl Filter {
    fn new(wanted: Wanted, engine: &Engine) -> Result<Self, String> {
        let Wanted { events, tools } = wanted;
        if [&events, &tools].into_iter().flatten().any(|names| names.len() > MOST) {
            return Err(format!("A subscription has at most {MOST} names."));
        }
        if let Some(unknown) = events.iter().flatten().find(|event| !KINDS.contains(&event.as_str())) {
            return Err(format!("There is no event {unknown:?}; there are {}.", KINDS.join(", ")));
        }
        let known = |name: String| engine.shown_name(&name).unwrap_or(name);
        Ok(Self { events, tools: tools.map(|names| names.into_iter().map(known).collect()) })
    }

    pub(super) fn wants(&self, event: &FeedEvent) -> bool {
        if !KINDS.contains(&event.event.as_str()) {
            return true;
        }
        let named = |names: &Option<Vec<String>>, name: &str| {
            names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
        };
        let tool = event.data.get("tool").and_then(serde_json::Value::as_str);
        named(&self.events, &event.event) && tool.is_none_or(|tool| named(&self.tools, tool))
    }

    pub(super) fn accepted(&self, position: i64) -> String {
        let data = json!({"events": self.events.as_deref().unwrap_or(&KINDS.map(str::to_owned)), "tools": self.tools});
        json!({"event": "subscribed", "data": data, "id": position.to_string()}).to_string()
    }
}

pub(super) fn told(event: &FeedEvent) -> String {
    json!({"event": event.event, "data": event.data, "id": event.id.to_string()}).to_string()
}

pub(super) fn missed(after: i64, until: i64) -> String {
    let data = json!({
        "after": after.to_string(),
        "until": until.to_string(),
        "reason": "What happened between these is not kept any more, or was not recorded. Look at the state itself.",
    });
    json!({"event": "missed", "data": data, "id": until.to_string()}).to_string()
}

pub(super) fn misunderstood(reason: &str) -> String {
    json!({"event": "error", "data": {"message": reason}}).to_string()
}
