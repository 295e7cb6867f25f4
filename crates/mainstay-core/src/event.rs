//! Events: what subscribers are notified of.

use std::sync::Arc;

/// Published inside the process; the transports turn it into notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated { uri: Arc<str>, change: Change },
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
