//! `bench-context`: one run that sets Mainstay's context caches, as a command line and as a server over stdio, beside
//! the crates context-cli and mcp-context-server. How to read what it prints is in `benches/README.md`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod build;
mod command_line;
mod deed;
mod equal;
mod field;
mod growth;
mod prose;
mod questions;
mod report;
mod resolve;
mod results;
mod shelf;
mod sources;
mod targets;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use yardstick::servers::Programs;

use crate::field::Field;
use crate::results::Results;
use crate::shelf::Shelf;

/// Measures context caches: builds, queries to a server and from the command line, memory, and how a query's cost
/// grows, Mainstay against its peers.
#[derive(Parser)]
struct Arguments {
    /// Seconds of queries in each round; the last one is waited for, however long it takes
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Rounds in which the two take turns; the median of them is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Documents that are compared
    #[arg(long, default_value_t = 10_000)]
    documents: usize,
    /// The most documents of the growth, which begins with 100 and goes on in steps of ten times as many
    #[arg(long, default_value_t = 100_000)]
    largest: usize,
    /// Only these parts of the benchmark
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
    /// Leave out Mainstay and measure the others
    #[arg(long)]
    peers_only: bool,
    /// Save all figures, those of each round too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Build,
    CommandLine,
    Resolve,
    Growth,
}

struct Settings {
    length: Duration,
    rounds: usize,
    documents: usize,
    largest: usize,
}

/// One thread for all of it: the generator must leave the other cores to the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    yardstick::until_stopped(run(Arguments::parse())).await
}

async fn run(arguments: Arguments) -> Result<()> {
    let settings = Settings {
        length: yardstick::window_length(arguments.rounds, arguments.seconds)?,
        rounds: arguments.rounds,
        documents: arguments.documents,
        largest: arguments.largest,
    };
    for (flag, documents) in [("--documents", arguments.documents), ("--largest", arguments.largest)] {
        if !(100..=1_000_000).contains(&documents) {
            bail!("{flag} must be between 100 and 1000000, not {documents}");
        }
    }
    let programs = Programs::find()?;
    let scratch = programs.scratch()?;
    let target = programs.beside().parent().context("this program lies in no target directory")?;
    let mut shelf = Shelf::new(&target.join("bench-data"), scratch.path())?;
    let field = Field::new(programs, scratch.path(), arguments.peers_only);
    let mut results = Results {
        machine: yardstick::machine(),
        rounds: arguments.rounds,
        seconds_a_round: arguments.seconds,
        documents: arguments.documents,
        ..Results::default()
    };
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(Part::Build) {
        results.builds = build::run(&field, &shelf, &settings).await?;
    }
    // Before there are servers, whose processor time would be counted as that of a program when they end.
    if wanted(Part::CommandLine) {
        results.command_line = command_line::run(&field, &mut shelf, &settings).await?;
    }
    if wanted(Part::Resolve) {
        (results.resolves, results.memory) = resolve::run(&field, &mut shelf, &settings).await?;
    }
    if wanted(Part::Growth) {
        results.growth = growth::run(&field, &mut shelf, &settings).await?;
    }
    results.caches = shelf.built;
    results.targets = targets::judge(&results);
    print!("{results}");
    match arguments.json {
        Some(path) => yardstick::save_json(&results, &path),
        None => Ok(()),
    }
}
