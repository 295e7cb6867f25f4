//! What the benchmarks share: servers that take turns under load, and how what they did becomes tables and verdicts.

#![expect(clippy::print_stderr, reason = "a benchmark says how far it is, apart from its tables on stdout")]

pub mod cell;
pub mod message;
pub mod process_cost;
pub mod report;
pub mod sample;
pub mod servers;
pub mod stdio;
pub mod target;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

/// Before memory is read, so that what a server puts off is done.
pub const SETTLE: Duration = Duration::from_secs(3);

/// Says how far the run is.
pub fn progress(what: &str) {
    eprintln!("{what}");
}

/// Servers end when they are dropped, so a signal must unwind the benchmark's future and not merely stop the process.
pub async fn until_stopped(benchmark: impl Future<Output = Result<()>>) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = benchmark => outcome,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    }
}

/// The arguments every benchmark has, checked.
pub fn window_length(rounds: usize, seconds: f64) -> Result<Duration> {
    if rounds == 0 || !(0.1..=600.0).contains(&seconds) {
        bail!("--rounds must be at least 1 and --seconds between 0.1 and 600");
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub fn save_json(results: &impl Serialize, path: &Path) -> Result<()> {
    let json = serde_json::to_vec_pretty(results)?;
    std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))
}

/// What the figures were measured on.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    format!("{cores} cores, {model}")
}
