//! The metrics of the server, in the text format of Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mainstay_core::{Error, Result};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    /// A registered tool's or prompt's name, or `resources/read`. Never text from a caller: each new value is a new time
    /// series, kept for as long as the process runs.
    target: Arc<str>,
    outcome: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TargetLabel {
    target: Arc<str>,
}

type Seconds = Family<TargetLabel, Histogram, fn() -> Histogram>;

/// The counters and gauges; cheap to update from every call.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    seconds: Seconds,
    /// Calls that are missing from the audit; anything but 0 means that it is incomplete.
    pub(crate) audit_gaps: Counter,
    pub(crate) in_flight: Gauge,
    pub(crate) sessions: Gauge,
    pub(crate) store_queue: Gauge,
    uptime: Gauge<f64, AtomicU64>,
}

/// From 50 µs, a call that only reads memory, to 100 s, a command that builds a project.
fn buckets() -> Histogram {
    Histogram::new([0.000_05, 0.000_2, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 100.0])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("mainstay");
        let calls = Family::default();
        let seconds = Seconds::new_with_constructor(buckets);
        let (audit_gaps, in_flight, sessions) = (Counter::default(), Gauge::default(), Gauge::default());
        let (store_queue, uptime) = (Gauge::default(), Gauge::<f64, AtomicU64>::default());
        registry.register("calls", "Calls by target and outcome", calls.clone());
        registry.register_with_unit("call_duration", "Time from arrival to reply", Unit::Seconds, seconds.clone());
        registry.register("audit_gaps", "Read calls missing from the audit", audit_gaps.clone());
        registry.register("calls_in_flight", "Calls running now", in_flight.clone());
        registry.register("sessions", "Sessions in memory", sessions.clone());
        registry.register("store_queue", "Writes waiting for the store", store_queue.clone());
        registry.register_with_unit("uptime", "Time since the server started", Unit::Seconds, uptime.clone());
        Self { registry, calls, seconds, audit_gaps, in_flight, sessions, store_queue, uptime }
    }
}

impl Metrics {
    /// Counts a call that ended.
    pub(crate) fn call(&self, target: &Arc<str>, outcome: &'static str, took: Duration) {
        self.calls.get_or_create(&CallLabels { target: target.clone(), outcome }).inc();
        self.seconds.get_or_create(&TargetLabel { target: target.clone() }).observe(took.as_secs_f64());
    }

    /// The text that Prometheus scrapes, with that of tool families. The uptime is set now; everything else is kept up to
    /// date.
    pub(crate) fn render(&self, uptime: Duration, families: impl Iterator<Item = String>) -> Result<String> {
        self.uptime.set(uptime.as_secs_f64());
        let mut text = String::new();
        encode_registry(&mut text, &self.registry).map_err(Error::internal)?;
        text.extend(families);
        encode_eof(&mut text).map_err(Error::internal)?;
        Ok(text)
    }
}
