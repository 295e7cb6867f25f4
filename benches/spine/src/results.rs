//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;

use crate::process_cost::Memory;
use crate::sample::{Ratio, Sample};

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const MAINSTAY_SESSION: &str = "mainstay, session";
pub(crate) const BARE_RMCP: &str = "bare rmcp";
pub(crate) const BARE_RMCP_SESSION: &str = "bare rmcp, session";
pub(crate) const EVERYTHING: &str = "server-everything, session";
pub(crate) const BARE_AXUM: &str = "bare axum";
pub(crate) const MAINSTAY_STDIO: &str = "mainstay stdio";
pub(crate) const MAINSTAY_STDIO_NEW: &str = "mainstay stdio, new data directory";
pub(crate) const EVERYTHING_STDIO: &str = "server-everything stdio";

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) http: Vec<Cell>,
    pub(crate) stdio: Vec<Cell>,
    pub(crate) starts: Vec<StartRow>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) targets: Vec<crate::targets::Target>,
}

/// One server under one load.
#[derive(Serialize)]
pub(crate) struct Cell {
    pub(crate) server: &'static str,
    /// Connections over HTTP, calls in flight over stdio.
    pub(crate) at_once: usize,
    pub(crate) median: Option<Sample>,
    pub(crate) rounds: Vec<Sample>,
}

#[derive(Serialize)]
pub(crate) struct StartRow {
    pub(crate) server: String,
    pub(crate) median_ms: f64,
    pub(crate) starts_ms: Vec<f64>,
}

#[derive(Serialize)]
pub(crate) struct MemoryRow {
    pub(crate) server: String,
    pub(crate) idle: Memory,
    pub(crate) after_load: Memory,
}

impl Cell {
    pub(crate) fn new(server: &'static str, at_once: usize) -> Self {
        Self { server, at_once, median: None, rounds: Vec::new() }
    }

    pub(crate) fn push(&mut self, sample: Sample) {
        self.rounds.push(sample);
        self.median = Some(Sample::median(&self.rounds));
    }

    /// Calls per second of one server over another's; `None` when either was left out of this run.
    pub(crate) fn ratio(cells: &[Self], over: &str, under: &str, at_once: usize) -> Option<Ratio> {
        let find = |server: &str| cells.iter().find(|cell| cell.server == server && cell.at_once == at_once);
        Some(Ratio::of_rates(&find(over)?.rounds, &find(under)?.rounds))
    }
}

impl Results {
    /// A server's time to its first answer over server-everything's.
    pub(crate) fn start_ratio(&self, server: &str) -> Option<Ratio> {
        let starts = |server: &str| self.starts.iter().find(|row| row.server == server);
        Some(Ratio::of_pairs(&starts(server)?.starts_ms, &starts(EVERYTHING_STDIO)?.starts_ms))
    }

    pub(crate) fn idle_memory(&self, server: &str) -> Option<Memory> {
        let row = self.memory.iter().find(|row| row.server == server)?;
        Some(row.idle)
    }
}
