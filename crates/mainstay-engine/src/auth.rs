//! What authentication gets from the engine: its store, its clock and its metrics.

use std::sync::Arc;
use std::time::Duration;

use mainstay_auth::{Backend, Observer};

use crate::Engine;

impl Engine {
    /// For the authenticator of a transport. The server hands it on without seeing the store.
    pub fn auth_backend(&self) -> Backend {
        Backend { store: self.store().clone(), clock: self.clock().clone(), observer: Arc::new(self.clone()) }
    }
}

impl Observer for Engine {
    fn request(&self, operation: &str, outcome: &'static str, took: Duration) {
        self.metrics().call(operation, outcome, took);
    }

    fn audit_gap(&self) {
        self.metrics().audit_gap();
    }
}
