//! `bench-spine`: one run on loopback that sets Mainstay's echo call, with the whole policy on, beside bare rmcp,
//! npm's server-everything and a bare axum handler. How to read what it prints is in `benches/README.md`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark's output is its purpose")]

mod http_bench;
mod http_load;
mod http_reply;
mod message;
mod process_cost;
mod report;
mod results;
mod sample;
mod servers;
mod stdio_bench;
mod stdio_load;
mod targets;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use crate::results::Results;
use crate::servers::Programs;

/// Measures the spine: HTTP and stdio, Mainstay against its peers.
#[derive(Parser)]
struct Arguments {
    /// Seconds under load in each round of each cell
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Rounds in which the servers take turns; the median of them is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only one half of the benchmark
    #[arg(long)]
    only: Option<Half>,
    /// Leave out npm's server-everything
    #[arg(long)]
    skip_everything: bool,
    /// Leave out Mainstay and measure the others
    #[arg(long)]
    peers_only: bool,
    /// Save all figures, those of each round too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Half {
    Http,
    Stdio,
}

struct Settings {
    seconds: Duration,
    rounds: usize,
    skip_everything: bool,
    peers_only: bool,
}

/// Says how far the run is, apart from the tables on stdout.
fn progress(what: &str) {
    eprintln!("{what}");
}

/// One thread for all of it: the generator must leave the other cores to the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut terminate = signal(SignalKind::terminate())?;
    // Servers end when they are dropped, so a signal must unwind this future and not merely stop the process.
    tokio::select! {
        outcome = run(arguments) => outcome,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    if arguments.rounds == 0 || !(0.1..=600.0).contains(&arguments.seconds) {
        bail!("--rounds must be at least 1 and --seconds between 0.1 and 600");
    }
    let settings = Settings {
        seconds: Duration::from_secs_f64(arguments.seconds),
        rounds: arguments.rounds,
        skip_everything: arguments.skip_everything,
        peers_only: arguments.peers_only,
    };
    let programs = Programs::find()?;
    let scratch = programs.scratch()?;
    let mut results = Results {
        machine: machine(),
        rounds: arguments.rounds,
        seconds_a_round: arguments.seconds,
        ..Results::default()
    };
    if arguments.only != Some(Half::Stdio) {
        let (cells, memory) = http_bench::run(&programs, scratch.path(), &settings).await?;
        results.http = cells;
        results.memory.extend(memory);
    }
    if arguments.only != Some(Half::Http) {
        let stdio = stdio_bench::run(&programs, scratch.path(), &settings).await?;
        results.stdio = stdio.cells;
        results.starts = stdio.starts;
        results.memory.extend(stdio.memory);
    }
    results.targets = targets::judge(&results);
    print!("{results}");
    if let Some(path) = arguments.json {
        let json = serde_json::to_vec_pretty(&results)?;
        std::fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    format!("{cores} cores, {model}")
}
