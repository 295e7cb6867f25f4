//! Search by meaning: how good its results are, and what indexing and searching cost, beside semble; how that grows with the
//! workspace; and how soon an edit is found.

mod freshness;
mod generated_tree;
mod mainstay;
mod quality;
mod queries;
mod repository;
mod results;
mod rewriting;
mod scale;
mod semble;
mod source_files;
mod targets;
mod tokio_sources;
mod vector_scan;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::bench_support::options::{Options, Settings};
use crate::bench_support::servers::Programs;
use crate::bench_support::{machine, progress};
use crate::search::generated_tree::Templates;
use crate::search::quality::Quality;
use crate::search::results::Results;
use crate::search::semble::Semble;
use crate::search::tokio_sources::Comparison;

/// Every program and every query here runs to its end, so a round has no length of its own.
const UNUSED_SECONDS: f64 = 1.0;
/// Files of the generated workspace: in a short run, and with `--scale`.
const FILES: usize = 2_000;
const FILES_AT_SCALE: usize = 200_000;

/// Measures search by meaning: quality and cost beside semble, large workspaces, vectors, and the time until an edit is found.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Directory of the query sets: search-dev/*.json and docstring-bench*.json.gz
    #[arg(long, value_name = "DIR", env = "BENCH_QUERIES")]
    queries: Option<PathBuf>,
    /// Directory with a checkout of each repository that search-dev has queries about
    #[arg(long, value_name = "DIR", env = "BENCH_CORPUS")]
    corpus: Option<PathBuf>,
    /// Directory with tokio's sources [default: crates that `cargo xtask bench search` downloads]
    #[arg(long, value_name = "DIR", env = "BENCH_TOKIO")]
    tokio: Option<PathBuf>,
    /// Directory of packages that the generated workspace is made of [default: those of cargo's registry]
    #[arg(long, value_name = "DIR")]
    packages: Option<PathBuf>,
    /// The generated workspace has 200,000 files instead of 2,000
    #[arg(long)]
    scale: bool,
    /// Files of the generated workspace
    #[arg(long, conflicts_with = "scale")]
    files: Option<usize>,
    /// The most vectors that are compared, from 10,000 to 1,000,000
    #[arg(long, default_value_t = 1_000_000)]
    vectors: u32,
    /// Rank by vectors and words alone, where quality is measured
    #[arg(long)]
    fusion: bool,
    /// Print the score of each query, where quality is measured
    #[arg(long)]
    each: bool,
    /// Only these parts of the benchmark
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Quality,
    Tokio,
    Scale,
    Vectors,
    Freshness,
}

/// What the parts of a run share.
struct Run {
    arguments: Arguments,
    settings: Settings,
    programs: Programs,
    scratch: tempfile::TempDir,
    semble: Option<Semble>,
}

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    if !(10_000..=1_000_000).contains(&arguments.vectors) {
        bail!("--vectors must be between 10000 and 1000000, not {}", arguments.vectors);
    }
    let options = std::mem::take(&mut arguments.options);
    let settings = options.settings(UNUSED_SECONDS)?;
    let programs = settings.programs()?;
    let scratch = programs.scratch()?;
    let mut run = Run { arguments, settings, programs, scratch, semble: None };
    if run.settings.peers && (run.wanted(Part::Quality) || run.wanted(Part::Tokio)) {
        run.semble = Some(Semble::prepare(run.scratch.path()).await?);
    }
    let mut results = run.measure().await?;
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    run.settings.save(&results)
}

impl Run {
    fn wanted(&self, part: Part) -> bool {
        self.arguments.only.is_empty() || self.arguments.only.contains(&part)
    }

    async fn measure(&self) -> Result<Results> {
        let mut results = Results { machine: machine(), rounds: self.settings.rounds, ..Results::default() };
        if self.wanted(Part::Quality) {
            results.quality = self.quality().await?;
        }
        if self.wanted(Part::Tokio) {
            let comparison = Comparison {
                programs: &self.programs,
                scratch: self.scratch.path(),
                settings: &self.settings,
                semble: self.semble.as_ref(),
            };
            results.tokio = Some(comparison.run(&self.tokio()?).await?);
        }
        if self.wanted(Part::Vectors) || self.wanted(Part::Scale) {
            let templates = self.templates()?;
            if self.wanted(Part::Vectors) {
                results.vectors = Some(vector_scan::run(&templates, self.arguments.vectors, self.settings.rounds)?);
            }
            if self.wanted(Part::Scale) {
                let usual = if self.arguments.scale { FILES_AT_SCALE } else { FILES };
                let files = self.arguments.files.unwrap_or(usual);
                results.scale = Some(scale::run(&self.programs, self.scratch.path(), &templates, files).await?);
            }
        }
        if self.wanted(Part::Freshness) {
            results.freshness = Some(freshness::run(&self.programs, self.scratch.path(), &self.tokio()?).await?);
        }
        Ok(results)
    }

    async fn quality(&self) -> Result<Option<quality::QualityResults>> {
        let Some(queries) = &self.arguments.queries else {
            progress("quality is left out: give the directory of the query sets with --queries");
            return Ok(None);
        };
        let quality = Quality {
            queries,
            corpus: self.arguments.corpus.as_deref(),
            semble: self.semble.as_ref(),
            rerank: !self.arguments.fusion,
            each: self.arguments.each,
        };
        quality::run(&quality).await.map(Some)
    }

    /// The directory given, or the one that `cargo xtask bench` makes.
    fn tokio(&self) -> Result<PathBuf> {
        let target = self.programs.beside().parent().context("this program is in no target directory")?;
        let sources = self.arguments.tokio.clone().unwrap_or_else(|| target.join("bench-data/search/tokio"));
        let missing = || format!("there is no {}: give --tokio, or use `cargo xtask bench search`", sources.display());
        sources.canonicalize().with_context(missing)
    }

    fn templates(&self) -> Result<Templates> {
        let given = self.arguments.packages.clone().or_else(source_files::cargo_registry);
        let packages = given.context("cargo has no registry here: give a directory of packages with --packages")?;
        progress(&format!("reading the source files of {}", Path::new(&packages).display()));
        Templates::load(&packages)
    }
}
