//! The record of a call: in the audit, in the metrics, and for those who listen.

use std::sync::Arc;
use std::time::Instant;

use mainstay_core::{Call, Effect, Error, Event, Outcome, Result};
use mainstay_store::{AuditEntry, Phase};

use crate::Engine;

pub(crate) struct Record {
    started: Instant,
    entry: AuditEntry,
    metric: Arc<str>,
    changes: bool,
    began: bool,
}

impl Record {
    pub(crate) fn open(
        engine: &Engine,
        call: &Call,
        target: &str,
        metric: Arc<str>,
        effect: Effect,
        args_digest: String,
    ) -> Self {
        let entry = AuditEntry {
            at_ms: engine.clock().now_ms(),
            phase: Phase::Ended,
            request_id: call.request_id.to_string(),
            principal: call.caller.principal.to_string(),
            session: call.session.as_deref().map(str::to_owned),
            ip: call.caller.ip.map(|ip| ip.to_string()),
            target: target.to_owned(),
            effect: effect.as_str().to_owned(),
            args_digest,
            outcome: String::new(),
            duration_us: 0,
        };
        Self { started: Instant::now(), entry, metric, changes: effect.changes(), began: false }
    }

    /// A call that changes something is on record before it begins; if it cannot be, it does not begin.
    pub(crate) async fn begin(&mut self, engine: &Engine) -> Result<()> {
        if self.changes {
            let entry = AuditEntry { phase: Phase::Began, ..self.entry.clone() };
            engine.store().audit().append(entry).await?;
            self.began = true;
        }
        Ok(())
    }

    /// Writes down what came of it. What was begun is acknowledged only once this is on disk.
    pub(crate) async fn end(mut self, engine: &Engine, mut result: Result<Outcome>) -> Result<Outcome> {
        let took = self.started.elapsed();
        let outcome = outcome_word(&result);
        self.entry.at_ms = engine.clock().now_ms();
        outcome.clone_into(&mut self.entry.outcome);
        self.entry.duration_us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        engine.metrics().call(&self.metric, outcome, took);
        if engine.events().anyone_listens() {
            engine.events().publish(self.event(outcome));
        }
        if let Err(error) = &result {
            log(&self.entry, error);
        }
        if self.began {
            if let Err(error) = engine.store().audit().append(self.entry).await {
                result = Err(unrecorded(&error));
            }
        } else if let Err(error) = engine.store().audit().note(self.entry) {
            tracing::warn!(%error, "a call could not be recorded in the audit");
            engine.metrics().audit_gap();
        }
        result
    }

    fn event(&self, outcome: &'static str) -> Event {
        Event::Called {
            target: self.entry.target.as_str().into(),
            principal: self.entry.principal.as_str().into(),
            session: self.entry.session.as_deref().map(Into::into),
            request_id: self.entry.request_id.as_str().into(),
            outcome,
        }
    }
}

fn outcome_word(result: &Result<Outcome>) -> &'static str {
    match result {
        Ok(Outcome::Reply(reply)) if reply.failed => "failed",
        Ok(_) => "ok",
        Err(error) => error.kind.as_str(),
    }
}

/// The detail stays here: it goes to the log with the request's id and crosses no wire.
fn log(entry: &AuditEntry, error: &Error) {
    let (request_id, target, kind) = (&entry.request_id, &entry.target, error.kind.as_str());
    if let Some(detail) = &error.detail {
        tracing::error!(request_id, target, kind, detail, "call failed");
    } else {
        tracing::debug!(request_id, target, kind, reason = %error.public, "call refused");
    }
}

fn unrecorded(error: &mainstay_store::StoreError) -> Error {
    Error::unavailable("The call ran, but its record could not be written, so it is not confirmed. Look at the state before you repeat it.")
        .with_detail(error)
}
