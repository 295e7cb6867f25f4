//! Rounds in which the contenders take turns at the same call; only one is under load at a time.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench_support::cell::Cell;
use crate::bench_support::process_cost::ProcessorTime;
use crate::bench_support::sample::{Latencies, Sample, Window};
use crate::bench_support::stdio::Load;
use crate::bench_support::turns;
use crate::workspace::contenders::Contenders;

pub(crate) const PLAIN_SPAWN: &str = "plain spawn and wait";

/// Between two contenders, so that the one before has finished what it puts off (garbage, group commits).
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Rounds {
    entries: Vec<Entry>,
}

struct Entry {
    runner: Runner,
    cell: Cell,
}

enum Runner {
    Server { at: usize, load: Load },
    Spawn,
}

impl Rounds {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds the contender of that name with the load that `load` makes for it, if it takes part.
    pub(crate) fn add(
        &mut self,
        contenders: &Contenders,
        name: &'static str,
        at_once: usize,
        load: impl FnOnce(&crate::workspace::contenders::Contender) -> Result<Load>,
    ) -> Result<()> {
        if let Some(at) = contenders.find(name) {
            let load = load(&contenders.all[at])?;
            let cell = Cell::new(name, at_once);
            self.entries.push(Entry { runner: Runner::Server { at, load }, cell });
        }
        Ok(())
    }

    pub(crate) fn add_plain_spawn(&mut self) {
        self.entries.push(Entry { runner: Runner::Spawn, cell: Cell::new(PLAIN_SPAWN, 1) });
    }

    pub(crate) async fn round(&mut self, contenders: &mut Contenders, round: usize, length: Duration) -> Result<()> {
        for at in turns(round, self.entries.len()) {
            let Entry { runner, cell } = &mut self.entries[at];
            let sample = match runner {
                Runner::Server { at, load } => contenders.all[*at].server.measure(load, cell.at_once, length).await?,
                Runner::Spawn => measure_plain_spawn(length)?,
            };
            cell.push(sample);
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    pub(crate) fn into_cells(self) -> Vec<Cell> {
        self.entries.into_iter().map(|entry| entry.cell).collect()
    }
}

/// Starts `true` and waits for its end, over and over, with nothing in between.
fn measure_plain_spawn(length: Duration) -> Result<Sample> {
    let mut latencies = Latencies::with_room();
    let this = std::process::id();
    let before = ProcessorTime::now(this)?;
    let window = Window::after(Duration::ZERO, length);
    let mut started = Instant::now();
    while started < window.until {
        spawn_once()?;
        let ended = Instant::now();
        if ended <= window.until {
            latencies.record(ended - started);
        }
        started = ended;
    }
    Ok(latencies.sample(window.length(), before, ProcessorTime::now(this)?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the start outside of any sandbox, with which the sandboxed one is compared"
)]
fn spawn_once() -> Result<()> {
    let mut command = std::process::Command::new("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("`true` could not be started")?;
    if !status.success() {
        bail!("`true` ended with {status}");
    }
    Ok(())
}
