//! Caches of documents: `mainstay context` and `mainstay stdio --dialect context` beside the programs whose contract they
//! implement, the crates context-cli and mcp-context-server.

mod build;
mod caches;
mod command_line;
mod compare_caches;
mod contenders;
mod documents;
mod growth;
mod queries;
mod report;
mod resolve;
mod results;
mod targets;
mod text_corpus;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::bench_support::machine;
use crate::bench_support::options::Options;
use crate::context::caches::Caches;
use crate::context::contenders::Contenders;
use crate::context::results::Results;

const SECONDS: f64 = 1.5;

/// Measures context caches: builds, queries to a server and from the command line, memory, and growth.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Documents that are compared
    #[arg(long, default_value_t = 10_000)]
    documents: usize,
    /// The most documents of the growth, which begins with 100 and goes on in steps of ten times as many
    #[arg(long, default_value_t = 100_000)]
    largest: usize,
    /// Only these parts of the benchmark
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Build,
    CommandLine,
    Resolve,
    Growth,
}

struct Settings {
    /// Of queries in each round; the last one is waited for, however long it takes.
    length: Duration,
    rounds: usize,
    documents: usize,
    largest: usize,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let common = arguments.options.settings(SECONDS)?;
    let settings = Settings {
        length: common.length,
        rounds: common.rounds,
        documents: arguments.documents,
        largest: arguments.largest,
    };
    for (flag, documents) in [("--documents", arguments.documents), ("--largest", arguments.largest)] {
        if !(100..=1_000_000).contains(&documents) {
            bail!("{flag} must be between 100 and 1000000, not {documents}");
        }
    }
    let programs = common.programs()?;
    let scratch = programs.scratch()?;
    let target = programs.beside().parent().context("this program is in no target directory")?;
    let mut caches = Caches::new(&target.join("bench-data"), scratch.path())?;
    let contenders = Contenders::new(programs, scratch.path(), &common);
    let mut results = Results {
        machine: machine(),
        rounds: settings.rounds,
        seconds_a_round: settings.length.as_secs_f64(),
        documents: arguments.documents,
        ..Results::default()
    };
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(Part::Build) {
        results.builds = build::run(&contenders, &caches, &settings).await?;
    }
    // Before there are servers, whose processor time would be counted as that of a program when they end.
    if wanted(Part::CommandLine) {
        results.command_line = command_line::run(&contenders, &mut caches, &settings).await?;
    }
    if wanted(Part::Resolve) {
        (results.resolves, results.memory) = resolve::run(&contenders, &mut caches, &settings).await?;
    }
    if wanted(Part::Growth) {
        results.growth = growth::run(&contenders, &mut caches, &settings).await?;
    }
    results.caches = caches.built;
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    common.save(&results)
}
