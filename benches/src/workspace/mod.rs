//! The tools for files and commands: Mainstay over stdio, beside npm's server-filesystem, ripgrep and a plain spawn.

mod calls;
mod contenders;
mod files;
mod growth;
mod report;
mod results;
mod rounds;
mod search;
mod targets;
mod text_corpus;
mod timing;
mod tree;

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::bench_support::cell::MemoryRow;
use crate::bench_support::options::Options;
use crate::bench_support::process_cost::Memory;
use crate::bench_support::servers::command;
use crate::bench_support::stdio::Load;
use crate::bench_support::{SETTLE, machine, reply};
use crate::workspace::contenders::{BASELINES, Contenders, FILESYSTEM, MAINSTAY};
use crate::workspace::files::{SMALL_READ, WorkspaceFiles};
use crate::workspace::results::Results;

const SECONDS: f64 = 1.5;

/// Measures reads, edits, listings, searches, commands, how their cost grows with the workspace, and memory.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Files in the tree that is listed and searched
    #[arg(long, default_value_t = 100_000)]
    files: usize,
    /// Only these parts of the benchmark
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Reads,
    Edits,
    Tree,
    Searches,
    Commands,
    Growth,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let settings = arguments.options.settings(SECONDS)?;
    if !(100..=1_000_000).contains(&arguments.files) {
        bail!("--files must be between 100 and 1000000, not {}", arguments.files);
    }
    let programs = settings.programs()?;
    let scratch = programs.scratch()?;
    let target = programs.beside().parent().context("this program is in no target directory")?;
    let files = WorkspaceFiles::prepare(&target.join("bench-data"), arguments.files)?;
    let mut contenders = Contenders::start(&programs, scratch.path(), &files, &settings).await?;
    let mut results = Results {
        machine: machine(),
        rounds: settings.rounds,
        seconds_a_round: settings.length.as_secs_f64(),
        files: files.tree,
        ..Results::default()
    };
    let idle = idle_memory(&mut contenders).await?;
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(Part::Reads) {
        results.reads = calls::reads(&mut contenders, &settings).await?;
    }
    if wanted(Part::Edits) {
        results.edits = calls::edits(&mut contenders, &settings).await?;
    }
    if wanted(Part::Tree) {
        results.tree = tree::run(&mut contenders, &files, &settings).await?;
    }
    if wanted(Part::Searches) {
        results.searches = search::run(&mut contenders, &files, &settings).await?;
    }
    if wanted(Part::Commands) {
        results.commands = calls::commands(&mut contenders, &settings).await?;
        results.bare_sandbox = bare_sandbox(programs.beside(), scratch.path()).await?;
    }
    if wanted(Part::Growth) {
        results.growth = growth::run(&programs, scratch.path(), &target.join("bench-data"), &settings).await?;
    }
    results.memory = memory_rows(&contenders, idle).await?;
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    settings.save(&results)
}

/// The contenders whose memory is reported: those that serve the large workspace.
fn is_reported(name: &str) -> bool {
    [MAINSTAY, BASELINES[0].1, FILESYSTEM].contains(&name)
}

/// After one served call each, when all have settled.
async fn idle_memory(contenders: &mut Contenders) -> Result<Vec<(&'static str, Memory)>> {
    let mut idle = Vec::new();
    for contender in &mut contenders.all {
        if is_reported(contender.name) {
            let call = contender.read(&format!("read/{SMALL_READ}.txt"));
            contender.server.call_once(&mut Load::new(&[call], |line, _| reply::check(line))).await?;
        }
    }
    tokio::time::sleep(SETTLE).await;
    for contender in &contenders.all {
        if is_reported(contender.name) {
            idle.push((contender.name, Memory::of(contender.server.server.pid)?));
        }
    }
    Ok(idle)
}

async fn memory_rows(contenders: &Contenders, idle: Vec<(&'static str, Memory)>) -> Result<Vec<MemoryRow>> {
    tokio::time::sleep(SETTLE).await;
    let mut rows = Vec::new();
    for (name, idle) in idle {
        let at = contenders.find(name).with_context(|| format!("{name} is gone"))?;
        let after_load = Memory::of(contenders.all[at].server.server.pid)?;
        rows.push(MemoryRow { server: name.to_owned(), idle, after_load });
    }
    Ok(rows)
}

/// What the sandbox's own example says of a small workspace, if it was built.
async fn bare_sandbox(beside: &Path, workspace: &Path) -> Result<Option<String>> {
    let example = beside.join("examples/spawn_rate");
    if !example.is_file() {
        return Ok(None);
    }
    let output = command(&example).arg(workspace).output().await.context("spawn_rate could not be started")?;
    if !output.status.success() {
        bail!("spawn_rate failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}
