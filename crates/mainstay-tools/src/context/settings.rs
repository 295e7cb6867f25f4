use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Context caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// The directory that holds the caches; without it, `caches` in the data directory.
    pub cache_root: Option<PathBuf>,
    /// How many seconds a call of the dialect `context` may take.
    #[schemars(range(min = 1))]
    pub tool_timeout_secs: u64,
    /// The most bytes that one reply may have.
    pub reply_bytes: u64,
    /// The most bytes that the words of caches may take in memory; what does not fit is read from disk for every call.
    pub memory_bytes: u64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { cache_root: None, tool_timeout_secs: 30, reply_bytes: 64 * 1024 * 1024, memory_bytes: 512 * 1024 * 1024 }
    }
}
