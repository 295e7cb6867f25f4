//! What the benchmarks share: starting servers, putting them under load in turns, and printing tables and targets.

pub(crate) mod baseline;
pub(crate) mod cell;
pub(crate) mod corpus;
pub(crate) mod http_load;
pub(crate) mod http_reply;
pub(crate) mod message;
pub(crate) mod options;
pub(crate) mod process_cost;
pub(crate) mod program_run;
pub(crate) mod pseudo_random;
pub(crate) mod reply;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod servers;
pub(crate) mod stdio;
pub(crate) mod target;

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Waited before memory is read, so that a server's deferred work (garbage collection, group commits) is done.
pub(crate) const SETTLE: Duration = Duration::from_secs(3);

/// Prints how far the run is.
#[expect(clippy::print_stderr, reason = "progress goes to stderr, apart from the tables on stdout")]
pub(crate) fn progress(what: &str) {
    eprintln!("{what}");
}

/// The order of the contenders in a round. Each round begins with another one, so that none always runs after the same.
pub(crate) fn turns(round: usize, contenders: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |turn| (turn + round) % contenders)
}

/// Servers end when they are dropped, so a signal must unwind the benchmark's future and not merely stop the process.
pub(crate) async fn until_stopped(benchmark: impl Future<Output = Result<()>>) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = benchmark => outcome,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    }
}

/// What the figures were measured on.
pub(crate) fn machine() -> String {
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
