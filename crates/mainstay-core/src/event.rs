//! Events: what subscribers are notified of.

use std::sync::Arc;

use serde_json::Value;

/// Published inside the process; the transports turn it into notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated {
        uri: Arc<str>,
        change: Change,
    },
    /// A call that ran has ended; `outcome` is "ok", "failed" or the kind of its error. There is no event for a call that
    /// was rejected before it ran.
    Called {
        what: Called,
        /// The name it has in lists and records.
        target: Arc<str>,
        /// The name people know it by: a dialect's own, where it has one.
        shown: Arc<str>,
        principal: Arc<str>,
        session: Option<Arc<str>>,
        request_id: Arc<str>,
        outcome: &'static str,
    },
}

string_enum! {
    /// What happened to a resource.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Change {
        Created = "created",
        Modified = "modified",
        Deleted = "deleted",
    }
}

/// What kind of target was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    Tool,
    Resource,
    /// With its arguments as they may be shown: without what looks like a secret, and cut.
    Prompt(Arc<Value>),
}
