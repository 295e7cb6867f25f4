//! `bench-spine`: one run on loopback that sets Mainstay's echo call, with the whole policy on, beside bare rmcp,
//! npm's server-everything and a bare axum handler. How to read what it prints is in `benches/README.md`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod http_bench;
mod http_load;
mod http_reply;
mod message;
mod report;
mod results;
mod stdio_bench;
mod targets;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use yardstick::servers::Programs;

use crate::results::Results;

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

/// One thread for all of it: the generator must leave the other cores to the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    yardstick::until_stopped(run(Arguments::parse())).await
}

async fn run(arguments: Arguments) -> Result<()> {
    let settings = Settings {
        seconds: yardstick::window_length(arguments.rounds, arguments.seconds)?,
        rounds: arguments.rounds,
        skip_everything: arguments.skip_everything,
        peers_only: arguments.peers_only,
    };
    let programs = Programs::find()?;
    let scratch = programs.scratch()?;
    let mut results = Results {
        machine: yardstick::machine(),
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
        yardstick::save_json(&results, &path)?;
    }
    Ok(())
}
