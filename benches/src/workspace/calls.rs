//! Reads, edits and commands, as calls per second.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use crate::bench_support::cell::Cell;
use crate::bench_support::message::tool_call;
use crate::bench_support::options::Settings;
use crate::bench_support::progress;
use crate::bench_support::reply;
use crate::bench_support::servers::Build;
use crate::bench_support::stdio::Load;
use crate::workspace::contenders::{
    Contenders, FILESYSTEM, MAINSTAY, MAINSTAY_MEMORY, MAINSTAY_SMALL, MAINSTAY_TMPFS, named_for,
};
use crate::workspace::files::{EDITS, LARGE_READ, SMALL_READ, last_line, write_edited};
use crate::workspace::rounds::Rounds;

pub(crate) const IN_FLIGHT: [usize; 2] = [1, 64];

/// Reads of files of `bytes`, for every number of calls in flight.
#[derive(serde::Serialize)]
pub(crate) struct Reads {
    pub(crate) bytes: usize,
    pub(crate) cells: Vec<Cell>,
}

pub(crate) async fn reads(contenders: &mut Contenders, settings: &Settings) -> Result<Vec<Reads>> {
    let mut measured = Vec::new();
    for bytes in [SMALL_READ, LARGE_READ] {
        for in_flight in IN_FLIGHT {
            let mut rounds = Rounds::new();
            for name in with_baselines(&[MAINSTAY, FILESYSTEM]) {
                rounds.add(contenders, name, in_flight, |contender| {
                    let call = contender.read(&format!("read/{bytes}.txt"));
                    let end = last_line(bytes).trim_end().to_owned();
                    Ok(Load::new(&[call], move |line, _| reply::check_says(line, end.as_bytes())))
                })?;
            }
            measured.push((bytes, rounds));
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("reads, round {} of {}", round + 1, settings.rounds));
        for (_, rounds) in &mut measured {
            rounds.round(contenders, round, settings.length).await?;
        }
    }
    let mut all: Vec<Reads> = Vec::new();
    for (bytes, rounds) in measured {
        match all.last_mut() {
            Some(reads) if reads.bytes == bytes => reads.cells.extend(rounds.into_cells()),
            Some(_) | None => all.push(Reads { bytes, cells: rounds.into_cells() }),
        }
    }
    Ok(all)
}

/// One exact replacement in a file of 20 KiB, each contender in a file of its own.
pub(crate) async fn edits(contenders: &mut Contenders, settings: &Settings) -> Result<Vec<Cell>> {
    let mut rounds = Rounds::new();
    for name in with_baselines(&[MAINSTAY, MAINSTAY_TMPFS, MAINSTAY_MEMORY, FILESYSTEM]) {
        rounds.add(contenders, name, 1, |contender| {
            let path = format!("edit/{}.txt", name.replace([' ', ','], "-"));
            std::fs::create_dir_all(contender.root().join("edit"))?;
            write_edited(&contender.root().join(&path))?;
            let [lit, out] = EDITS;
            let calls = [contender.edit(&path, lit, out), contender.edit(&path, out, lit)];
            Ok(Load::new(&calls, |line, _| reply::check(line)))
        })?;
    }
    run_rounds(contenders, settings, "edits", rounds).await
}

/// The command `true`, sandboxed and not.
pub(crate) async fn commands(contenders: &mut Contenders, settings: &Settings) -> Result<Vec<Cell>> {
    let mut rounds = Rounds::new();
    for name in with_baselines(&[MAINSTAY_SMALL, MAINSTAY_MEMORY, MAINSTAY]) {
        rounds.add(contenders, name, 1, |_| Ok(command_load()))?;
    }
    if settings.peers {
        rounds.add_plain_spawn();
    }
    run_rounds(contenders, settings, "commands", rounds).await
}

/// The command `true`, over and over.
pub(crate) fn command_load() -> Load {
    let call = tool_call("exec_run", &json!({ "command": "true", "args": [] }));
    Load::new(&[call], |line, _| check_run(line))
}

async fn run_rounds(
    contenders: &mut Contenders,
    settings: &Settings,
    what: &str,
    mut rounds: Rounds,
) -> Result<Vec<Cell>> {
    for round in 0..settings.rounds {
        progress(&format!("{what}, round {} of {}", round + 1, settings.rounds));
        rounds.round(contenders, round, settings.length).await?;
    }
    Ok(rounds.into_cells())
}

/// The contenders of these names, each beside the one that runs the baseline.
fn with_baselines(names: &[&'static str]) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = names.iter().flat_map(|name| [*name, named_for(Build::Baseline, name)]).collect();
    all.dedup();
    all
}

fn check_run(line: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct Run {
        exit_code: i32,
    }
    let run: Run = reply::structured(line)?;
    anyhow::ensure!(run.exit_code == 0, "`true` ended with {}", run.exit_code);
    Ok(())
}
