//! What one measurement yields, and how the rounds of a cell become one figure.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bench_support::process_cost::ProcessorTime;

/// When a measurement begins and ends; what comes before it warms the server up and is not counted.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

impl Window {
    pub(crate) fn after(warm_up: Duration, length: Duration) -> Self {
        let from = Instant::now() + warm_up;
        Self { from, until: from + length }
    }

    pub(crate) fn length(self) -> Duration {
        self.until - self.from
    }
}

#[derive(Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    /// With room enough that recording hardly ever allocates.
    pub(crate) fn with_room() -> Self {
        Self(Vec::with_capacity(64 * 1024))
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Sums up a window of `length`, at whose ends the processor time was read.
    pub(crate) fn sample(&mut self, length: Duration, before: ProcessorTime, after: ProcessorTime) -> Sample {
        let calls = f64::from(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        let seconds = length.as_secs_f64();
        Sample {
            calls_per_second: calls / seconds,
            p50_us: self.percentile(50),
            p99_us: self.percentile(99),
            server_cpu_us: after.server_since(before) / calls.max(1.0) * 1e6,
            others_cores: after.others_since(before) / seconds,
        }
    }

    pub(crate) fn percentiles(&mut self) -> Percentiles {
        Percentiles { count: self.0.len(), p50_ms: self.percentile(50) / 1e3, p99_ms: self.percentile(99) / 1e3 }
    }

    /// In microseconds; 0 when nothing was measured.
    fn percentile(&mut self, percent: usize) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        let rank = (self.0.len() * percent / 100).min(self.0.len() - 1);
        let (_, latency, _) = self.0.select_nth_unstable(rank);
        latency.as_secs_f64() * 1e6
    }
}

/// How long calls took that were made one after the other.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: usize,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// One round of one cell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) calls_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Processor time the server spent on a call.
    pub(crate) server_cpu_us: f64,
    /// Cores kept busy by neither the server nor the generator.
    pub(crate) others_cores: f64,
}

impl Sample {
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            calls_per_second: of(|sample| sample.calls_per_second),
            p50_us: of(|sample| sample.p50_us),
            p99_us: of(|sample| sample.p99_us),
            server_cpu_us: of(|sample| sample.server_cpu_us),
            others_cores: of(|sample| sample.others_cores),
        }
    }
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => figures[odd / 2],
        even => f64::midpoint(figures[even / 2 - 1], figures[even / 2]),
    }
}

/// A ratio is taken within each round, where both sides met the same machine, and the median of those is reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Ratio {
    pub(crate) fn of_pairs(over: &[f64], under: &[f64]) -> Self {
        let ratios: Vec<f64> = over.iter().zip(under).map(|(a, b)| a / b).collect();
        Self {
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            median: median(ratios),
        }
    }

    pub(crate) fn of_rates(over: &[Sample], under: &[Sample]) -> Self {
        let rates = |rounds: &[Sample]| -> Vec<f64> { rounds.iter().map(|sample| sample.calls_per_second).collect() };
        Self::of_pairs(&rates(over), &rates(under))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks_of_what_was_recorded() {
        let mut latencies = Latencies::default();
        for microseconds in (1..=100).rev() {
            latencies.record(Duration::from_micros(microseconds));
        }
        assert!((latencies.percentile(50) - 51.0).abs() < 1e-9);
        assert!((latencies.percentile(99) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_call_of_many_seconds_counts_in_full() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::from_secs(20));
        assert!((latencies.percentile(50) - 20e6).abs() < 1e-3);
    }

    #[test]
    fn a_ratio_is_paired_by_round() {
        let ratio = Ratio::of_pairs(&[10.0, 100.0, 1000.0], &[10.0, 50.0, 250.0]);
        assert_eq!(ratio, Ratio { median: 2.0, least: 1.0, most: 4.0 });
    }
}
