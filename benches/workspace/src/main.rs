//! `bench-workspace`: one run that sets Mainstay's file and command tools, as a client meets them over stdio, beside
//! npm's server-filesystem, ripgrep itself and a plain spawn. How to read what it prints is in `benches/README.md`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod calls;
mod contender;
mod grep;
mod ground;
mod heat;
mod prose;
mod reply;
mod report;
mod results;
mod targets;
mod timing;
mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use yardstick::cell::MemoryRow;
use yardstick::process_cost::Memory;
use yardstick::servers::{Programs, command};
use yardstick::stdio::Load;

use crate::contender::{FILESYSTEM, Field, MAINSTAY};
use crate::ground::{Ground, SMALL_READ};
use crate::results::Results;

/// Measures the workspace: reads, edits, listings, searches, commands and memory, Mainstay against its peers.
#[derive(Parser)]
struct Arguments {
    /// Seconds under load in each round of what is counted in calls per second
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Rounds in which the servers take turns; the median of them is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Files in the tree that is listed and searched
    #[arg(long, default_value_t = 100_000)]
    files: usize,
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
    Reads,
    Edits,
    Tree,
    Searches,
    Commands,
}

struct Settings {
    length: Duration,
    rounds: usize,
    peers_only: bool,
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
        peers_only: arguments.peers_only,
    };
    if !(100..=1_000_000).contains(&arguments.files) {
        bail!("--files must be between 100 and 1000000, not {}", arguments.files);
    }
    let programs = Programs::find()?;
    let scratch = programs.scratch()?;
    let target = programs.beside().parent().context("this program lies in no target directory")?;
    let ground = Ground::prepare(&target.join("bench-data"), arguments.files)?;
    let mut field = Field::line_up(&programs, scratch.path(), &ground, &settings).await?;
    let mut results = Results {
        machine: yardstick::machine(),
        rounds: arguments.rounds,
        seconds_a_round: arguments.seconds,
        files: ground.tree,
        ..Results::default()
    };
    let idle = idle_memory(&mut field).await?;
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(Part::Reads) {
        results.reads = calls::reads(&mut field, &settings).await?;
    }
    if wanted(Part::Edits) {
        results.edits = calls::edits(&mut field, &settings).await?;
    }
    if wanted(Part::Tree) {
        results.tree = tree::run(&mut field, &ground, &settings).await?;
    }
    if wanted(Part::Searches) {
        results.searches = grep::run(&mut field, &ground, &settings).await?;
    }
    if wanted(Part::Commands) {
        results.commands = calls::commands(&mut field, &settings).await?;
        results.bare_sandbox = bare_sandbox(programs.beside(), scratch.path()).await?;
    }
    results.memory = memory_rows(&field, idle).await?;
    results.targets = targets::judge(&results);
    print!("{results}");
    match arguments.json {
        Some(path) => yardstick::save_json(&results, &path),
        None => Ok(()),
    }
}

/// After one served call, when both have settled.
async fn idle_memory(field: &mut Field) -> Result<Vec<(&'static str, Memory)>> {
    let mut idle = Vec::new();
    for contender in &mut field.contenders {
        if [MAINSTAY, FILESYSTEM].contains(&contender.name) {
            let call = contender.read(&format!("read/{SMALL_READ}.txt"));
            contender.server.call_once(&mut Load::new(&[call], |line, _| reply::check(line))).await?;
        }
    }
    tokio::time::sleep(yardstick::SETTLE).await;
    for contender in &field.contenders {
        if [MAINSTAY, FILESYSTEM].contains(&contender.name) {
            idle.push((contender.name, Memory::of(contender.server.server.pid)?));
        }
    }
    Ok(idle)
}

async fn memory_rows(field: &Field, idle: Vec<(&'static str, Memory)>) -> Result<Vec<MemoryRow>> {
    tokio::time::sleep(yardstick::SETTLE).await;
    let mut rows = Vec::new();
    for (name, idle) in idle {
        let at = field.find(name).with_context(|| format!("{name} is gone"))?;
        let after_load = Memory::of(field.contenders[at].server.server.pid)?;
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
