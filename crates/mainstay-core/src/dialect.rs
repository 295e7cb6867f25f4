//! What a dialect declares about itself that the engine has to know. The engine never knows which dialect it serves:
//! policies that differ between dialects come as data, with each call.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of calls in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Number of calls.
    #[schemars(range(min = 1))]
    pub calls: u32,
    /// Length of the window in seconds.
    #[serde(default = "minute")]
    #[schemars(range(min = 1))]
    pub seconds: u32,
}

fn minute() -> u32 {
    60
}

/// The policies in which dialects differ. The default is that of the standard protocol: none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DialectPolicy {
    /// Key of the dialect's own quota, in the configuration and in the counters.
    pub name: &'static str,
    /// Requests of one client in any window of this length, unless the configuration has another quota for the dialect.
    /// A sliding window: a token bucket would admit nearly twice as many in the first window.
    pub quota: Option<Quota>,
    /// An idempotency key that was used before answers with its first result, whatever the call is now. Otherwise a
    /// different call under the same key is a conflict.
    pub first_result_wins: bool,
    /// The longest a call may take, where that is less than the engine's own limit.
    pub deadline: Option<Duration>,
    /// The largest response in bytes; a larger one becomes an error.
    pub response_bytes: Option<usize>,
}
