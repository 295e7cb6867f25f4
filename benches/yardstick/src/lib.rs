//! What the benchmarks share: servers that take turns under load, and how what they did becomes tables and verdicts.

#![expect(clippy::print_stderr, reason = "a benchmark says how far it is, apart from its tables on stdout")]

pub mod cell;
pub mod kept;
pub mod message;
pub mod numbers;
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

/// Whose turn it is in a round: each one begins with another, so that nobody always runs after the same.
pub fn turns(round: usize, contenders: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |turn| (turn + round) % contenders)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_one_turn_in_a_round_and_begins_once_in_as_many() {
        let rounds: Vec<Vec<usize>> = (0..3).map(|round| turns(round, 3).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
    }
}
