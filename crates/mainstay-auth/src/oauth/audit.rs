//! Audit rows of the authorization server: which token was issued or refused, to whom. Never a secret.

use std::net::IpAddr;
use std::time::Instant;

use mainstay_core::{Effect, Result, canonical_digest, new_id};
use mainstay_store::{AuditEntry, Phase, Store};
use serde_json::Value;

use crate::Backend;

/// The principal recorded for a client that does not exist. The name that was sent is not recorded: anybody could fill
/// the audit with invented names.
pub(super) const UNKNOWN_CLIENT: &str = "nobody";

/// One request to the authorization server, recorded when it ends.
pub(super) struct OAuthAudit {
    started: Instant,
    operation: &'static str,
    ip: Option<IpAddr>,
    args_digest: String,
}

impl OAuthAudit {
    /// `args` is the part of the request that is not secret; its digest is recorded.
    pub(super) fn new(operation: &'static str, ip: Option<IpAddr>, args: &Value) -> Self {
        Self { started: Instant::now(), operation, ip, args_digest: canonical_digest(args) }
    }

    /// Resolves when the row is on disk: a token is handed out only after that.
    pub(super) async fn succeeded(&self, backend: &Backend, principal: &str) -> Result<()> {
        backend.observer.request(self.operation, "ok", self.started.elapsed());
        self.write(&backend.store, backend.now_ms(), principal).await
    }

    /// Queues the row without waiting, as for a rejected call.
    pub(super) fn rejected(&self, backend: &Backend, principal: &str, outcome: &'static str) {
        backend.observer.request(self.operation, outcome, self.started.elapsed());
        if let Err(error) = backend.store.audit().enqueue(&self.entry(backend.now_ms(), principal, outcome)) {
            tracing::warn!(%error, "a rejected OAuth request could not be recorded in the audit");
            backend.observer.audit_gap();
        }
    }

    /// Records a success without metrics: for commands, which run outside the server.
    pub(super) async fn write(&self, store: &Store, now_ms: i64, principal: &str) -> Result<()> {
        store.audit().append(self.entry(now_ms, principal, "ok")).await?;
        Ok(())
    }

    fn entry(&self, at_ms: i64, principal: &str, outcome: &str) -> AuditEntry {
        AuditEntry {
            at_ms,
            phase: Phase::Ended,
            request_id: new_id().into(),
            principal: principal.into(),
            session: None,
            ip: self.ip.map(|ip| ip.to_string()),
            target: self.operation.into(),
            effect: Effect::Writes.as_str().into(),
            args_digest: self.args_digest.clone(),
            outcome: outcome.to_owned().into(),
            duration_us: i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX),
        }
    }
}
