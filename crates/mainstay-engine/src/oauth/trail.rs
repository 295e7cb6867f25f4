//! What the authorization server leaves in the audit: that a token was given, or not, and to whom. Never a secret.

use std::net::IpAddr;
use std::time::Instant;

use mainstay_core::{Effect, Result, new_id};
use mainstay_store::{AuditEntry, Phase, Store};
use serde_json::Value;

use crate::{Engine, digest};

/// Stands in the audit for a client that does not exist: names that anybody can make up are not recorded.
pub(super) const NOBODY: &str = "nobody";

pub(super) struct Trail {
    started: Instant,
    operation: &'static str,
    ip: Option<IpAddr>,
    asked: String,
}

impl Trail {
    /// `asked` is what may be known of the request: its digest is recorded.
    pub(super) fn new(operation: &'static str, ip: Option<IpAddr>, asked: &Value) -> Self {
        Self { started: Instant::now(), operation, ip, asked: digest::of(asked) }
    }

    /// Resolves when the row is on disk: what is not recorded is not given.
    pub(super) async fn given(&self, engine: &Engine, principal: &str) -> Result<()> {
        engine.metrics().call(self.operation, "ok", self.started.elapsed());
        engine.store().audit().append(self.entry(engine.clock().now_ms(), principal, "ok")).await?;
        Ok(())
    }

    /// Queues the row, like that of a call that was refused.
    pub(super) fn refused(&self, engine: &Engine, principal: &str, outcome: &'static str) {
        engine.metrics().call(self.operation, outcome, self.started.elapsed());
        if let Err(error) = engine.store().audit().enqueue(&self.entry(engine.clock().now_ms(), principal, outcome)) {
            tracing::warn!(%error, "a refusal could not be recorded in the audit");
            engine.metrics().audit_gap();
        }
    }

    /// For what an operator does without the engine.
    pub(super) async fn done(&self, store: &Store, now_ms: i64, by: &str) -> Result<()> {
        store.audit().append(self.entry(now_ms, by, "ok")).await?;
        Ok(())
    }

    fn entry(&self, at_ms: i64, principal: &str, outcome: &str) -> AuditEntry {
        AuditEntry {
            at_ms,
            phase: Phase::Ended,
            request_id: new_id(),
            principal: principal.to_owned(),
            session: None,
            ip: self.ip.map(|ip| ip.to_string()),
            target: self.operation.to_owned(),
            effect: Effect::Writes.as_str().to_owned(),
            args_digest: self.asked.clone(),
            outcome: outcome.to_owned(),
            duration_us: i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX),
        }
    }
}
