//! Everything one run has measured, in the shape that `--json` writes.

use std::time::Duration;

use serde::Serialize;

use crate::bench_support::baseline::{Comparison, compare_rates};
use crate::bench_support::cell::Cell;
use crate::bench_support::sample::Ratio;
use crate::bench_support::servers::Build;
use crate::bench_support::target::Target;
use crate::solana::call::Read;

pub(crate) const NODE: &str = "the node itself";
pub(crate) const UNCACHED: &str = "mainstay, cache off";
pub(crate) const CACHED: &str = "mainstay";

/// Connections where the cache is measured.
pub(crate) const CACHED_AT_ONCE: usize = 16;

/// The names a build of Mainstay has in the tables.
pub(crate) struct Names {
    pub(crate) uncached_process: &'static str,
    pub(crate) cached_process: &'static str,
    pub(crate) uncached: &'static str,
    pub(crate) cached: &'static str,
}

const CURRENT: Names = Names {
    uncached_process: "mainstay serve, cache off",
    cached_process: "mainstay serve",
    uncached: UNCACHED,
    cached: CACHED,
};

const BASELINE: Names = Names {
    uncached_process: "baseline serve, cache off",
    cached_process: "baseline serve",
    uncached: "baseline, cache off",
    cached: "baseline",
};

impl Names {
    pub(crate) fn of(build: Build) -> &'static Self {
        match build {
            Build::Current => &CURRENT,
            Build::Baseline => &BASELINE,
        }
    }
}

/// One read, by everyone who takes part.
#[derive(Serialize)]
pub(crate) struct Part {
    pub(crate) read: Read,
    /// How much later the node's answers come than from this machine.
    pub(crate) delay_ms: u128,
    pub(crate) cells: Vec<Cell>,
}

/// Every part of a run. In the first the cache is off.
pub(crate) fn parts(delay: Duration) -> Vec<Part> {
    let all = [Read::NewBalances, Read::SameBalances, Read::GenesisHash, Read::EpochSchedule];
    all.into_iter().map(|read| Part { read, delay_ms: delay.as_millis(), cells: Vec::new() }).collect()
}

impl Part {
    pub(crate) fn name(&self) -> String {
        match self.delay_ms {
            0 => format!("{}, node on this machine", self.read.name()),
            delay => format!("{}, node {delay} ms away", self.read.name()),
        }
    }

    /// Whether Mainstay's cache takes part.
    pub(crate) fn is_cached(&self) -> bool {
        self.read != Read::NewBalances
    }

    /// How many connections there are. Latency is measured with one.
    pub(crate) fn at_once(&self) -> usize {
        if self.is_cached() { CACHED_AT_ONCE } else { 1 }
    }

    /// Calls per second, Mainstay's over the node's.
    pub(crate) fn rate_ratio(&self) -> Option<Ratio> {
        Cell::ratio(&self.cells, if self.is_cached() { CACHED } else { UNCACHED }, NODE, self.at_once())
    }

    /// Median and 99th percentile of the latency, Mainstay's over the node's.
    pub(crate) fn latency_ratios(&self) -> Option<[Ratio; 2]> {
        let find = |server: &str| self.cells.iter().find(|cell| cell.server == server);
        let (ours, node) = (find(if self.is_cached() { CACHED } else { UNCACHED })?, find(NODE)?);
        let latencies = |cell: &Cell, p99: bool| -> Vec<f64> {
            cell.rounds.iter().map(|sample| if p99 { sample.p99_us } else { sample.p50_us }).collect()
        };
        Some([false, true].map(|p99| Ratio::of_pairs(&latencies(ours, p99), &latencies(node, p99))))
    }
}

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) parts: Vec<Part>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

impl Results {
    /// Every cell of the current build over the same cell of the baseline. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let names = [(CURRENT.uncached, BASELINE.uncached), (CURRENT.cached, BASELINE.cached)];
        let each = self.parts.iter().flat_map(|part| names.map(|names| (part, names)));
        each.flat_map(|(part, (current, baseline))| compare_rates(&part.name(), &part.cells, current, baseline))
            .collect()
    }
}
