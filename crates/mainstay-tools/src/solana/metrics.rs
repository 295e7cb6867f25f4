//! Metrics of the requests to nodes, with the names of contract 003.

use std::sync::Arc;
use std::time::Duration;

use mainstay_solana::methods;
use mainstay_solana::rpc::Observer;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    /// A method of the table: each new value would be a new time series.
    method: &'static str,
    network: Arc<str>,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabels {
    method: &'static str,
    network: Arc<str>,
    error_type: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ErrorLabel {
    error_type: &'static str,
}

type Seconds = Family<RequestLabels, Histogram, fn() -> Histogram>;

pub(super) struct SolanaMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    successful: Family<RequestLabels, Counter>,
    failed: Family<FailureLabels, Counter>,
    errors: Family<ErrorLabel, Counter>,
    seconds: Seconds,
    cache_hits: Counter,
    cache_misses: Counter,
    cache_size: Gauge,
}

fn buckets() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

impl Default for SolanaMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("solana_mcp");
        let (requests, successful, failed) = (Family::default(), Family::default(), Family::default());
        let (errors, seconds) = (Family::default(), Seconds::new_with_constructor(buckets));
        let (cache_hits, cache_misses, cache_size) = (Counter::default(), Counter::default(), Gauge::default());
        registry.register("rpc_requests", "Requests to nodes", Family::clone(&requests));
        registry.register("rpc_requests_successful", "Requests that were answered", Family::clone(&successful));
        registry.register("rpc_requests_failed", "Requests that failed", Family::clone(&failed));
        registry.register("rpc_errors", "Errors by type", Family::clone(&errors));
        let duration = "Time from a request to its answer";
        registry.register_with_unit("rpc_request_duration", duration, Unit::Seconds, seconds.clone());
        registry.register("cache_hits", "Reads answered from the cache", cache_hits.clone());
        registry.register("cache_misses", "Reads not in the cache", cache_misses.clone());
        registry.register("cache_size", "Bytes in the cache", cache_size.clone());
        Self { registry, requests, successful, failed, errors, seconds, cache_hits, cache_misses, cache_size }
    }
}

impl SolanaMetrics {
    /// The text that is added to the server's metrics.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        text
    }
}

impl Observer for SolanaMetrics {
    fn request(&self, method: &str, network: &str, outcome: Result<(), &'static str>, took: Duration) {
        let method = methods::find(method).map_or("other", |method| method.name);
        let labels = RequestLabels { method, network: network.into() };
        self.requests.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        match outcome {
            Ok(()) => _ = self.successful.get_or_create(&labels).inc(),
            Err(error_type) => {
                self.failed.get_or_create(&FailureLabels { method, network: labels.network, error_type }).inc();
                self.errors.get_or_create(&ErrorLabel { error_type }).inc();
            }
        }
    }

    fn cache(&self, hit: bool, bytes: usize) {
        let counter = if hit { &self.cache_hits } else { &self.cache_misses };
        counter.inc();
        self.cache_size.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}
