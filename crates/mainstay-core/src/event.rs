//! What the server tells those who listen.

use std::sync::Arc;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated {
        uri: Arc<str>,
    },
    /// A call came to its end; `outcome` is "ok" or the kind of its error.
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

/// What kind of target was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    Tool,
    Resource,
    /// With its arguments as they may be shown: without what looks like a secret, and cut.
    Prompt(Arc<Value>),
}
