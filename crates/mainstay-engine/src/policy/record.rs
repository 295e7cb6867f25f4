//! The record of a call: its audit entries, its metrics, and the event about it.

use std::sync::Arc;
use std::time::Instant;

use mainstay_core::{Call, Effect, Error, Kind, Result, recorded};
use mainstay_store::{AuditEntry, Phase};

use crate::Engine;
use crate::feed::Called;

/// What is recorded about the target of a call.
pub(crate) struct AuditSubject<'a> {
    pub(crate) called: Called,
    pub(crate) target: Arc<str>,
    pub(crate) display_name: &'a str,
    pub(crate) metric: Arc<str>,
    pub(crate) effect: Effect,
}

impl<'a> AuditSubject<'a> {
    /// Of something that is recorded and never runs as a call, so no event is published about it.
    pub(crate) fn query(target: &'a str) -> Self {
        // What follows the first word comes from the caller and must not become a time series.
        let metric = target.split(' ').next().unwrap_or_default().into();
        Self { called: Called::Resource, target: target.into(), display_name: target, metric, effect: Effect::Reads }
    }
}

/// Opened when a request arrives. However it ends, even by being dropped, it leaves an audit entry.
pub(crate) struct Record {
    engine: Engine,
    started: Instant,
    /// `None` once it has been written.
    entry: Option<AuditEntry>,
    called: Called,
    display_name: String,
    metric: Arc<str>,
    /// Whether the call changes something: then it has an entry before it runs, too.
    changes: bool,
    /// Whether that first entry is on disk.
    began: bool,
    /// Whether the target ran: then an event is published about its outcome. Nobody is notified of a call that was
    /// rejected before.
    pub(crate) ran: bool,
    /// Added to the effect in the entry: what tells the call from others of its effect.
    pub(crate) mark: Option<&'static str>,
}

impl Record {
    pub(crate) fn open(engine: &Engine, by: &Call, subject: AuditSubject<'_>, args_digest: String) -> Self {
        let AuditSubject { called, target, display_name, metric, effect } = subject;
        let entry = AuditEntry {
            at_ms: engine.clock().now_ms(),
            phase: Phase::Ended,
            request_id: by.request_id.clone(),
            principal: by.caller.principal.to_shared(),
            session: by.session.clone(),
            ip: by.caller.ip.map(|ip| ip.to_string()),
            target,
            effect: effect.as_str().into(),
            args_digest,
            outcome: "".into(),
            duration_us: 0,
        };
        Self {
            engine: engine.clone(),
            started: Instant::now(),
            entry: Some(entry),
            called,
            display_name: display_name.to_owned(),
            metric,
            changes: effect.changes(),
            began: false,
            ran: false,
            mark: None,
        }
    }

    /// A call that changes something is on record before it begins; if it cannot be, it does not begin.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        if self.changes
            && let Some(entry) = &self.entry
        {
            let entry = AuditEntry { phase: Phase::Began, ..entry.clone() };
            self.engine.0.store.audit().append(entry).await?;
            self.began = true;
        }
        Ok(())
    }

    /// Writes the outcome. A call that was recorded as begun is answered only once this is on disk.
    /// `failed` tells an output that reports a failure of its own.
    pub(crate) async fn end<T>(mut self, result: Result<T>, failed: impl Fn(&T) -> bool) -> Result<T> {
        let result = result.map_err(Error::shortened);
        let outcome = match &result {
            Ok(output) if failed(output) => "failed",
            Ok(_) => "ok",
            Err(error) => error.kind.as_str(),
        };
        let Some(entry) = self.close(outcome) else { return result };
        if let Err(error) = &result {
            log(&entry, error);
        }
        // Reads are recorded in the background: an entry that is lost is counted as a gap, not an error of the call.
        if !self.began {
            self.note(&entry);
            return result;
        }
        match self.engine.0.store.audit().append(entry).await {
            Ok(_) => result,
            Err(error) => Err(unrecorded(error.into())),
        }
    }

    /// The finished entry, counted in the metrics and, if the call ran, published as an event.
    fn close(&mut self, outcome: &'static str) -> Option<AuditEntry> {
        let mut entry = self.entry.take()?;
        let took = self.started.elapsed();
        entry.at_ms = self.engine.clock().now_ms();
        entry.outcome = outcome.into();
        if let Some(mark) = self.mark {
            entry.effect = format!("{} {mark}", entry.effect).into();
        }
        entry.duration_us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        self.engine.0.metrics.call(&self.metric, outcome, took);
        if self.ran {
            self.engine.feed().record_call(&self.called, &self.display_name, &entry.principal, outcome);
        }
        Some(entry)
    }

    fn note(&self, entry: &AuditEntry) {
        if let Err(error) = self.engine.0.store.audit().enqueue(entry) {
            tracing::warn!(%error, "a call could not be recorded in the audit");
            self.engine.0.metrics.audit_gaps.inc();
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

/// The private detail goes to the log with the request id, and nowhere else.
fn log(entry: &AuditEntry, error: &Error) {
    let (request_id, target, kind) = (&*entry.request_id, &*entry.target, error.kind.as_str());
    // Cut, because it may repeat what the caller sent.
    let reason = recorded(&error.public);
    let trouble = matches!(error.kind, Kind::Internal | Kind::Unavailable | Kind::TimedOut);
    match &error.detail {
        Some(detail) if trouble => tracing::error!(request_id, target, kind, reason, detail, "call failed"),
        None if trouble => tracing::warn!(request_id, target, kind, reason, "call failed"),
        // What the caller can correct is no concern of the operator. It is not in the log unless it is asked for: reason
        // and detail may name values of the caller's arguments.
        detail => {
            let detail = detail.as_deref().map(recorded);
            tracing::debug!(request_id, target, kind, reason, detail, "call refused");
        }
    }
}

/// The error for a call that ran and whose outcome could not be kept.
pub(crate) fn unrecorded(error: Error) -> Error {
    let told = "The call ran, but its record could not be written, so it is not confirmed. Look at the state before you repeat it.";
    Error::unavailable(told).with_detail(error.detail.unwrap_or_else(|| error.public.into_owned()))
}
