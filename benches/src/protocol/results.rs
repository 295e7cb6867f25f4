//! Everything one run has measured, in the shape that `--json` writes.

use serde::Serialize;

use crate::bench_support::baseline::{Comparison, compare_rates, compare_times};
use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::process_cost::Memory;
use crate::bench_support::sample::Ratio;
use crate::bench_support::servers::Build;
use crate::bench_support::target::Target;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const MAINSTAY_SESSION: &str = "mainstay, session";
pub(crate) const BARE_RMCP: &str = "bare rmcp";
pub(crate) const BARE_RMCP_SESSION: &str = "bare rmcp, session";
pub(crate) const EVERYTHING: &str = "server-everything, session";
pub(crate) const BARE_AXUM: &str = "bare axum";
pub(crate) const MAINSTAY_STDIO: &str = "mainstay stdio";
pub(crate) const MAINSTAY_STDIO_NEW: &str = "mainstay stdio, new data directory";
pub(crate) const EVERYTHING_STDIO: &str = "server-everything stdio";

/// The names a build of Mainstay has in the tables.
pub(crate) struct Names {
    pub(crate) process: &'static str,
    pub(crate) stateless: &'static str,
    pub(crate) session: &'static str,
    pub(crate) stdio: &'static str,
    pub(crate) stdio_new: &'static str,
    /// The directory its data is in.
    pub(crate) directory: &'static str,
}

const CURRENT: Names = Names {
    process: "mainstay serve",
    stateless: MAINSTAY,
    session: MAINSTAY_SESSION,
    stdio: MAINSTAY_STDIO,
    stdio_new: MAINSTAY_STDIO_NEW,
    directory: "current",
};

const BASELINE: Names = Names {
    process: "baseline serve",
    stateless: "baseline",
    session: "baseline, session",
    stdio: "baseline stdio",
    stdio_new: "baseline stdio, new data directory",
    directory: "baseline",
};

impl Names {
    pub(crate) fn of(build: Build) -> &'static Self {
        match build {
            Build::Current => &CURRENT,
            Build::Baseline => &BASELINE,
        }
    }
}

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) http: Vec<Cell>,
    pub(crate) stdio: Vec<Cell>,
    pub(crate) starts: Vec<StartRow>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Serialize)]
pub(crate) struct StartRow {
    pub(crate) server: String,
    pub(crate) median_ms: f64,
    pub(crate) starts_ms: Vec<f64>,
}

impl Results {
    /// A server's time to its first answer over server-everything's.
    pub(crate) fn start_ratio(&self, server: &str) -> Option<Ratio> {
        Some(Ratio::of_pairs(&self.start(server)?.starts_ms, &self.start(EVERYTHING_STDIO)?.starts_ms))
    }

    fn start(&self, server: &str) -> Option<&StartRow> {
        self.starts.iter().find(|row| row.server == server)
    }

    pub(crate) fn idle_memory(&self, server: &str) -> Option<Memory> {
        let row = self.memory.iter().find(|row| row.server == server)?;
        Some(row.idle)
    }

    /// Every cell of the current build over the same cell of the baseline. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let mut all = Vec::new();
        for (current, baseline) in [(CURRENT.stateless, BASELINE.stateless), (CURRENT.session, BASELINE.session)] {
            all.extend(compare_rates("/mcp", &self.http, current, baseline));
        }
        all.extend(compare_rates("stdio", &self.stdio, CURRENT.stdio, BASELINE.stdio));
        for (current, baseline) in [(CURRENT.stdio, BASELINE.stdio), (CURRENT.stdio_new, BASELINE.stdio_new)] {
            if let (Some(ours), Some(theirs)) = (self.start(current), self.start(baseline)) {
                all.push(compare_times(format!("start, {current}"), &ours.starts_ms, &theirs.starts_ms));
            }
        }
        all
    }
}
