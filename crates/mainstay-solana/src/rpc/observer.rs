//! What a client reports about its work. The caller makes metrics of it.

use std::time::Duration;

/// Receives an event for each request to a node and each look into the cache. Called inline, so it must not block.
pub trait Observer: Send + Sync {
    /// A request to a node ended. The error is its type: `rate_limited`, `timeout`, `node`, `transport`, `malformed`,
    /// `too_large`, or `circuit_open` for one that was not sent because every circuit was open.
    fn request(&self, method: &str, network: &str, outcome: Result<(), &'static str>, took: Duration);

    /// The cache was asked for an answer; `bytes` is its size now.
    fn cache(&self, hit: bool, bytes: usize);
}

/// Ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn request(&self, _method: &str, _network: &str, _outcome: Result<(), &'static str>, _took: Duration) {}

    fn cache(&self, _hit: bool, _bytes: usize) {}
}
