//! What the server tells those who listen.

use std::sync::Arc;

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
        target: Arc<str>,
        principal: Arc<str>,
        session: Option<Arc<str>>,
        request_id: Arc<str>,
        outcome: &'static str,
    },
}
