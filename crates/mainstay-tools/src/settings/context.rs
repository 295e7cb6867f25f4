//! The configuration section `[context]`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Context caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// The directory that holds the caches. Default: `caches` in the data directory.
    pub cache_root: Option<PathBuf>,
    /// The maximum duration of a call of the dialect `context`, in seconds.
    #[schemars(range(min = 1))]
    pub tool_timeout_secs: u64,
    /// The maximum size of a reply, in bytes.
    pub reply_bytes: u64,
    /// The maximum memory for indexes of caches, in bytes. A cache whose index does not fit is read from disk for every
    /// call.
    pub memory_bytes: u64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { cache_root: None, tool_timeout_secs: 30, reply_bytes: 64 * 1024 * 1024, memory_bytes: 512 * 1024 * 1024 }
    }
}
