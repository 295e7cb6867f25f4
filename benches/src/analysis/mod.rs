//! Code analysis: what `mainstay analyze` costs beside lizard, radon and complexipy on the same source code, and beside git
//! on the same history.

mod churn;
mod complexity;
mod contenders;
mod repository;
mod results;
mod targets;
mod tree;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::analysis::contenders::Contenders;
use crate::analysis::results::Results;
use crate::analysis::tree::Tree;
use crate::bench_support::machine;
use crate::bench_support::options::Options;

/// Every program here runs to its end, so a round has no length of its own.
const UNUSED_SECONDS: f64 = 1.0;

/// Measures code analysis: complexity beside lizard, radon and complexipy, churn beside git.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// A git repository whose whole history is read [default: one of 5,000 commits that is generated]
    #[arg(long, value_name = "PATH")]
    repository: Option<PathBuf>,
    /// Only these parts of the benchmark
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Complexity,
    Churn,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let common = arguments.options.settings(UNUSED_SECONDS)?;
    let programs = common.programs()?;
    let scratch = programs.scratch()?;
    let target = programs.beside().parent().context("this program is in no target directory")?;
    let data = target.join("bench-data");
    let contenders = Contenders::new(programs, scratch.path(), &common);
    let mut results = Results { machine: machine(), rounds: common.rounds, ..Results::default() };
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(Part::Complexity) {
        for tree in Tree::all(&data.join("analysis"))? {
            results.complexity.push(complexity::run(&contenders, &tree, common.rounds).await?);
        }
    }
    if wanted(Part::Churn) {
        let repository = match &arguments.repository {
            Some(given) => given.canonicalize().with_context(|| format!("there is no {}", given.display()))?,
            None => repository::generate(&data)?,
        };
        results.churn = Some(churn::run(&contenders, &repository, common.rounds).await?);
    }
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    common.save(&results)
}
