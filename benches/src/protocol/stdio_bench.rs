//! The stdio half: time to the first answer, idle memory, and calls per second, Mainstay against server-everything.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;
use tokio::time::sleep;

use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::options::Settings;
use crate::bench_support::process_cost::Memory;
use crate::bench_support::sample::median;
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::stdio::{Load, MOST_IN_FLIGHT, StdioServer};
use crate::bench_support::{SETTLE, progress, turns};
use crate::protocol::Run;
use crate::protocol::http_bench::{everything, everything_echo, mainstay, mainstay_echo};
use crate::protocol::message::{self, Era};
use crate::protocol::results::{EVERYTHING_STDIO, Names, StartRow};

const IN_FLIGHT: [usize; 2] = [1, MOST_IN_FLIGHT];
/// Starts of each server; a few more than rounds, because one start is one number.
const STARTS: usize = 11;

pub(crate) struct StdioResults {
    pub(crate) cells: Vec<Cell>,
    pub(crate) starts: Vec<StartRow>,
    pub(crate) memory: Vec<MemoryRow>,
}

#[derive(Clone, Copy, PartialEq)]
enum Contender {
    Mainstay(Build),
    /// The first start on a machine: the data directory does not exist yet.
    MainstayNew(Build),
    Everything,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Mainstay(build) => Names::of(build).stdio,
            Self::MainstayNew(build) => Names::of(build).stdio_new,
            Self::Everything => EVERYTHING_STDIO,
        }
    }

    fn load(self) -> Load {
        let echo = match self {
            Self::Mainstay(_) | Self::MainstayNew(_) => mainstay_echo(),
            Self::Everything => everything_echo(),
        };
        Load::new(&[echo.call(Era::Session)], message::check_echo)
    }

    fn command(self, programs: &Programs, scratch: &Path, start: usize) -> Result<Command> {
        match self {
            Self::Everything => everything(programs, "stdio"),
            Self::Mainstay(build) => {
                let directory = format!("stdio-{}", Names::of(build).directory);
                mainstay(programs, build, "stdio", scratch, &directory)
            }
            Self::MainstayNew(build) => {
                let directory = format!("stdio-{}-{start}", Names::of(build).directory);
                mainstay(programs, build, "stdio", scratch, &directory)
            }
        }
    }

    async fn start(self, programs: &Programs, scratch: &Path, start: usize) -> Result<(StdioServer, Duration)> {
        StdioServer::start(self.name(), self.command(programs, scratch, start)?, scratch).await
    }
}

/// A server and the calls made to it.
struct Loaded {
    server: StdioServer,
    load: Load,
}

impl Loaded {
    fn name(&self) -> &'static str {
        self.server.server.name
    }
}

pub(crate) async fn run(programs: &Programs, scratch: &Path, run: &Run) -> Result<StdioResults> {
    let mut contenders = Vec::new();
    for build in run.settings.builds.iter().copied() {
        contenders.extend([Contender::Mainstay(build), Contender::MainstayNew(build)]);
    }
    if run.everything {
        contenders.push(Contender::Everything);
    }
    let starts = measure_starts(&contenders, programs, scratch).await?;

    contenders.retain(|contender| !matches!(contender, Contender::MainstayNew(_)));
    let mut servers = Vec::new();
    for contender in contenders {
        let (mut server, _) = contender.start(programs, scratch, 0).await?;
        let mut load = contender.load();
        server.call_once(&mut load).await?;
        servers.push(Loaded { server, load });
    }
    sleep(SETTLE).await;
    let idle = memory(&servers)?;
    let cells = run_rounds(&mut servers, &run.settings).await?;
    sleep(SETTLE).await;
    let loaded = memory(&servers)?;
    let memory = servers
        .iter()
        .zip(idle.into_iter().zip(loaded))
        .map(|(loaded, (idle, after_load))| MemoryRow { server: loaded.name().to_owned(), idle, after_load })
        .collect();
    Ok(StdioResults { cells, starts, memory })
}

/// The servers take turns here too. The first start of each is not counted: it reads the programs from disk, and makes
/// the data directory that Mainstay's later starts find.
async fn measure_starts(contenders: &[Contender], programs: &Programs, scratch: &Path) -> Result<Vec<StartRow>> {
    let mut times = vec![Vec::new(); contenders.len()];
    progress("stdio: starting each server a few times");
    for start in 0..=STARTS {
        for (contender, times) in contenders.iter().zip(&mut times) {
            let (mut server, took) = contender.start(programs, scratch, start).await?;
            // Ended and waited for, so that the next one does not share the cores with its last moments.
            server.server.child.kill().await?;
            if start > 0 {
                times.push(took.as_secs_f64() * 1000.0);
            }
        }
    }
    let rows = contenders.iter().zip(times);
    Ok(rows
        .map(|(contender, starts_ms)| StartRow {
            server: contender.name().to_owned(),
            median_ms: median(starts_ms.clone()),
            starts_ms,
        })
        .collect())
}

async fn run_rounds(servers: &mut [Loaded], settings: &Settings) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for in_flight in IN_FLIGHT {
        for server in servers.iter() {
            cells.push(Cell::new(server.name(), in_flight));
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("stdio round {} of {}", round + 1, settings.rounds));
        for (at, in_flight) in IN_FLIGHT.into_iter().enumerate() {
            for turn in turns(round, servers.len()) {
                let Loaded { server, load } = &mut servers[turn];
                let sample = server.measure(load, in_flight, settings.length).await?;
                cells[at * servers.len() + turn].push(sample);
            }
        }
    }
    Ok(cells)
}

fn memory(servers: &[Loaded]) -> Result<Vec<Memory>> {
    servers.iter().map(|loaded| Memory::of(loaded.server.server.pid)).collect()
}
