//! What every call goes through: one run on loopback that sends the same echo call to Mainstay, with all policies on,
//! to bare rmcp, to npm's server-everything and to a bare axum handler.

mod http_bench;
mod message;
mod report;
mod results;
mod stdio_bench;
mod targets;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::bench_support::machine;
use crate::bench_support::options::{Options, Settings};
use crate::protocol::results::Results;

const SECONDS: f64 = 3.0;

/// Measures an echo call over HTTP and stdio: calls per second, latency, time to start, memory.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Only one half of the benchmark
    #[arg(long)]
    only: Option<Half>,
    /// Leave out npm's server-everything
    #[arg(long)]
    skip_everything: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Half {
    Http,
    Stdio,
}

/// Who takes part, and for how long.
struct Run {
    settings: Settings,
    /// Whether npm's server-everything takes part.
    everything: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let settings = arguments.options.settings(SECONDS)?;
    let run = Run { everything: settings.peers && !arguments.skip_everything, settings };
    let programs = run.settings.programs()?;
    let scratch = programs.scratch()?;
    let mut results = Results {
        machine: machine(),
        rounds: run.settings.rounds,
        seconds_a_round: run.settings.length.as_secs_f64(),
        ..Results::default()
    };
    if arguments.only != Some(Half::Stdio) {
        let (cells, memory) = http_bench::run(&programs, scratch.path(), &run).await?;
        results.http = cells;
        results.memory.extend(memory);
    }
    if arguments.only != Some(Half::Http) {
        let stdio = stdio_bench::run(&programs, scratch.path(), &run).await?;
        results.stdio = stdio.cells;
        results.starts = stdio.starts;
        results.memory.extend(stdio.memory);
    }
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    run.settings.save(&results)
}
