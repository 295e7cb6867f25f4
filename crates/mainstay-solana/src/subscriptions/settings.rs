//! How connections for subscriptions are kept.

use std::time::Duration;

use crate::rpc::RetrySettings;

/// Settings of [`Subscriptions`](super::Subscriptions).
#[derive(Debug, Clone)]
pub struct SubscriptionSettings {
    /// For connecting, for writing, and for the node's answer to a subscription.
    pub timeout: Duration,
    /// The longest message of a node, in bytes.
    pub max_message_bytes: usize,
    /// How many notifications are kept for a subscriber that does not keep up.
    pub kept_notifications: usize,
    /// How often a ping is sent, so that a dead connection is noticed.
    pub ping_every: Duration,
    /// A connection on which nothing arrives for this long after a ping is lost.
    pub pong_within: Duration,
    /// How long a connection without subscribers stays open.
    pub linger: Duration,
    /// The waits before connecting anew. The number of attempts is not limited: a subscription lasts until it is dropped.
    pub backoff: RetrySettings,
}

impl Default for SubscriptionSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            // An account has 10 MiB at most; in base64 and its envelope that is less than 14.
            max_message_bytes: 16 * 1024 * 1024,
            kept_notifications: 16,
            ping_every: Duration::from_secs(20),
            pong_within: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            backoff: RetrySettings { longest_backoff: Duration::from_secs(30), ..RetrySettings::default() },
        }
    }
}
