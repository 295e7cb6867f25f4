//! What authentication and consent need from the process around them.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Clock;
use mainstay_store::Store;

/// Counts the requests of the authorization server. The engine implements it with its metrics: this crate is below the
/// engine and cannot name them.
pub trait Observer: Send + Sync {
    fn request(&self, operation: &str, outcome: &'static str, took: Duration);

    /// An audit row that could not be written.
    fn audit_gap(&self);
}

/// The store, the clock and the metrics. Everything that has to outlive a request is in the store, so replicas on the
/// same store accept each other's tokens and approvals.
#[derive(Clone)]
pub struct Backend {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub observer: Arc<dyn Observer>,
}

impl Backend {
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
