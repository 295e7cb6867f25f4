//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;
use yardstick::cell::{Cell, MemoryRow};
use yardstick::process_cost::Memory;
use yardstick::sample::Ratio;
use yardstick::target::Target;

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
        let starts = |server: &str| self.starts.iter().find(|row| row.server == server);
        Some(Ratio::of_pairs(&starts(server)?.starts_ms, &starts(EVERYTHING_STDIO)?.starts_ms))
    }

    pub(crate) fn idle_memory(&self, server: &str) -> Option<Memory> {
        let row = self.memory.iter().find(|row| row.server == server)?;
        Some(row.idle)
    }
}
