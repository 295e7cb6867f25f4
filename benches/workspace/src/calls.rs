//! Reads, edits and commands, as calls per second.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use yardstick::cell::Cell;
use yardstick::message::tool_call;
use yardstick::progress;
use yardstick::stdio::Load;

use crate::Settings;
use crate::contender::{FILESYSTEM, Field, MAINSTAY, MAINSTAY_MEMORY, MAINSTAY_SMALL, MAINSTAY_TMPFS};
use crate::ground::{EDITS, LARGE_READ, SMALL_READ, last_words, write_edited};
use crate::heat::Heat;
use crate::reply;

pub(crate) const IN_FLIGHT: [usize; 2] = [1, 64];

/// Reads of files of `bytes`, for every number of calls in flight.
#[derive(serde::Serialize)]
pub(crate) struct Reads {
    pub(crate) bytes: usize,
    pub(crate) cells: Vec<Cell>,
}

pub(crate) async fn reads(field: &mut Field, settings: &Settings) -> Result<Vec<Reads>> {
    let mut heats = Vec::new();
    for bytes in [SMALL_READ, LARGE_READ] {
        for in_flight in IN_FLIGHT {
            let mut heat = Heat::new();
            for name in [MAINSTAY, FILESYSTEM] {
                heat.enter(field, name, in_flight, |contender| {
                    let call = contender.read(&format!("read/{bytes}.txt"));
                    let end = last_words(bytes).trim_end().to_owned();
                    Ok(Load::new(&[call], move |line, _| reply::check_says(line, end.as_bytes())))
                })?;
            }
            heats.push((bytes, heat));
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("reads, round {} of {}", round + 1, settings.rounds));
        for (_, heat) in &mut heats {
            heat.round(field, round, settings.length).await?;
        }
    }
    let mut all: Vec<Reads> = Vec::new();
    for (bytes, heat) in heats {
        match all.last_mut() {
            Some(reads) if reads.bytes == bytes => reads.cells.extend(heat.into_cells()),
            Some(_) | None => all.push(Reads { bytes, cells: heat.into_cells() }),
        }
    }
    Ok(all)
}

/// One exact replacement in a file of 20 KiB, each contender in a file of its own.
pub(crate) async fn edits(field: &mut Field, settings: &Settings) -> Result<Vec<Cell>> {
    let mut heat = Heat::new();
    for name in [MAINSTAY, MAINSTAY_TMPFS, MAINSTAY_MEMORY, FILESYSTEM] {
        heat.enter(field, name, 1, |contender| {
            let path = format!("edit/{}.txt", name.replace([' ', ','], "-"));
            std::fs::create_dir_all(contender.root().join("edit"))?;
            write_edited(&contender.root().join(&path))?;
            let [lit, out] = EDITS;
            let calls = [contender.edit(&path, lit, out), contender.edit(&path, out, lit)];
            Ok(Load::new(&calls, |line, _| reply::check(line)))
        })?;
    }
    rounds(field, settings, "edits", heat).await
}

/// The command `true`, sandboxed and not.
pub(crate) async fn commands(field: &mut Field, settings: &Settings) -> Result<Vec<Cell>> {
    let mut heat = Heat::new();
    for name in [MAINSTAY_SMALL, MAINSTAY_MEMORY, MAINSTAY] {
        heat.enter(field, name, 1, |_| {
            let call = tool_call("exec_run", &json!({ "command": "true", "args": [] }));
            Ok(Load::new(&[call], |line, _| check_run(line)))
        })?;
    }
    heat.enter_plain_spawn();
    rounds(field, settings, "commands", heat).await
}

async fn rounds(field: &mut Field, settings: &Settings, what: &str, mut heat: Heat) -> Result<Vec<Cell>> {
    for round in 0..settings.rounds {
        progress(&format!("{what}, round {} of {}", round + 1, settings.rounds));
        heat.round(field, round, settings.length).await?;
    }
    Ok(heat.into_cells())
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
