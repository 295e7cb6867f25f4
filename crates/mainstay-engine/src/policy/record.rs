//! The record of a call: in the audit, in the metrics, and for those who listen.

use std::sync::Arc;
use std::time::Instant;

use mainstay_core::{Call, Called, Effect, Error, Event, Kind, Outcome, Result};
use mainstay_store::{AuditEntry, Phase};

use crate::Engine;

/// How what is called looks in the records.
pub(crate) struct Portrait<'a> {
    pub(crate) what: Called,
    pub(crate) target: &'a str,
    pub(crate) shown: &'a str,
    pub(crate) metric: Arc<str>,
    pub(crate) effect: Effect,
}

impl<'a> Portrait<'a> {
    /// Of something that is no call of ours: it is recorded, and never runs as one.
    pub(crate) fn unheard(target: &'a str, metric: &str) -> Self {
        Self { what: Called::Resource, target, shown: target, metric: metric.into(), effect: Effect::Reads }
    }
}

/// Opened when a call sets out. However the call ends, even by being dropped, it leaves a row.
pub(crate) struct Record {
    engine: Engine,
    started: Instant,
    /// Gone once it has been written down.
    entry: Option<AuditEntry>,
    what: Called,
    shown: Arc<str>,
    metric: Arc<str>,
    changes: bool,
    began: bool,
    ran: bool,
}

impl Record {
    pub(crate) fn open(engine: &Engine, call: &Call, portrait: Portrait<'_>, args_digest: String) -> Self {
        let Portrait { what, target, shown, metric, effect } = portrait;
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
        Self {
            engine: engine.clone(),
            started: Instant::now(),
            entry: Some(entry),
            what,
            shown: shown.into(),
            metric,
            changes: effect.changes(),
            began: false,
            ran: false,
        }
    }

    /// A call that changes something is on record before it begins; if it cannot be, it does not begin.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        if self.changes
            && let Some(entry) = &self.entry
        {
            let entry = AuditEntry { phase: Phase::Began, ..entry.clone() };
            self.engine.store().audit().append(entry).await?;
            self.began = true;
        }
        Ok(())
    }

    /// The call runs now: those who listen are told what comes of it.
    pub(crate) fn run(&mut self) {
        self.ran = true;
    }

    /// Writes down what came of it. What was begun is acknowledged only once this is on disk.
    pub(crate) async fn end(mut self, result: Result<Outcome>) -> Result<Outcome> {
        let Some(entry) = self.close(outcome_word(&result)) else { return result };
        if let Err(error) = &result {
            log(&entry, error);
        }
        if !self.began {
            self.note(&entry);
            return result;
        }
        match self.engine.store().audit().append(entry).await {
            Ok(_) => result,
            Err(error) => Err(unrecorded(error.into())),
        }
    }

    /// The finished row, counted and, if the call ran, announced.
    fn close(&mut self, outcome: &'static str) -> Option<AuditEntry> {
        let mut entry = self.entry.take()?;
        let took = self.started.elapsed();
        entry.at_ms = self.engine.clock().now_ms();
        outcome.clone_into(&mut entry.outcome);
        entry.duration_us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        self.engine.metrics().call(&self.metric, outcome, took);
        if self.ran && self.engine.events().has_call_receivers() {
            self.engine.events().publish(self.event(&entry, outcome));
        }
        Some(entry)
    }

    fn event(&self, entry: &AuditEntry, outcome: &'static str) -> Event {
        Event::Called {
            what: self.what.clone(),
            target: entry.target.as_str().into(),
            shown: self.shown.clone(),
            principal: entry.principal.as_str().into(),
            session: entry.session.as_deref().map(Into::into),
            request_id: entry.request_id.as_str().into(),
            outcome,
        }
    }

    fn note(&self, entry: &AuditEntry) {
        if let Err(error) = self.engine.store().audit().enqueue(entry) {
            tracing::warn!(%error, "a call could not be recorded in the audit");
            self.engine.metrics().audit_gap();
        }
    }
}

/// The transport may drop a call that only reads, when its client goes away.
impl Drop for Record {
    fn drop(&mut self) {
        if let Some(entry) = self.close(Kind::Cancelled.as_str()) {
            self.note(&entry);
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
    // What is the caller's to mend is no trouble of the operator's.
    let trouble = matches!(error.kind, Kind::Internal | Kind::Unavailable | Kind::TimedOut);
    let reason = error.public.as_ref();
    match &error.detail {
        Some(detail) if trouble => tracing::error!(request_id, target, kind, reason, detail, "call failed"),
        Some(detail) => tracing::info!(request_id, target, kind, reason, detail, "call failed"),
        None if trouble => tracing::warn!(request_id, target, kind, reason, "call failed"),
        None => tracing::debug!(request_id, target, kind, reason, "call refused"),
    }
}

/// The error for a call that ran and whose outcome could not be kept.
pub(crate) fn unrecorded(error: Error) -> Error {
    let told = "The call ran, but its record could not be written, so it is not confirmed. Look at the state before you repeat it.";
    Error::unavailable(told).with_detail(error.detail.unwrap_or_else(|| error.public.into_owned()))
}
