//! The stdio half: time to the first answer, idle memory, and calls per second, Mainstay against server-everything.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;
use tokio::time::{sleep, sleep_until};

use crate::http_bench::{SETTLE, everything_echo, mainstay_directories, mainstay_echo};
use crate::http_load::Window;
use crate::message::Echo;
use crate::process_cost::{Memory, ProcessorTime};
use crate::results::{Cell, EVERYTHING_STDIO, MAINSTAY_STDIO, MAINSTAY_STDIO_NEW, MemoryRow, StartRow};
use crate::sample::{Sample, median};
use crate::servers::{Programs, command};
use crate::stdio_load::{MOST_IN_FLIGHT, StdioServer};
use crate::{Settings, progress};

const IN_FLIGHT: [usize; 2] = [1, MOST_IN_FLIGHT];
const WARM_UP: Duration = Duration::from_millis(500);
/// Starts of each server; a few more than rounds, because one start is one number.
const STARTS: usize = 11;

pub(crate) struct StdioResults {
    pub(crate) cells: Vec<Cell>,
    pub(crate) starts: Vec<StartRow>,
    pub(crate) memory: Vec<MemoryRow>,
}

#[derive(Clone, Copy, PartialEq)]
enum Contender {
    Mainstay,
    /// The first start on a machine: the data directory does not exist yet.
    MainstayNew,
    Everything,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Mainstay => MAINSTAY_STDIO,
            Self::MainstayNew => MAINSTAY_STDIO_NEW,
            Self::Everything => EVERYTHING_STDIO,
        }
    }

    fn echo(self) -> Echo {
        match self {
            Self::Mainstay | Self::MainstayNew => mainstay_echo(),
            Self::Everything => everything_echo(),
        }
    }

    fn command(self, programs: &Programs, scratch: &Path, start: usize) -> Result<Command> {
        let directory = match self {
            Self::Everything => return programs.everything("stdio"),
            Self::Mainstay => "stdio".to_owned(),
            Self::MainstayNew => format!("stdio-{start}"),
        };
        let mut mainstay = command(&programs.own("mainstay")?);
        mainstay.arg("stdio").args(mainstay_directories(scratch, &directory)?).env("XDG_CONFIG_HOME", scratch);
        Ok(mainstay)
    }

    async fn start(self, programs: &Programs, scratch: &Path, start: usize) -> Result<(StdioServer, Duration)> {
        let command = self.command(programs, scratch, start)?;
        StdioServer::start(self.name(), command, self.echo(), scratch).await
    }
}

pub(crate) async fn run(programs: &Programs, scratch: &Path, settings: &Settings) -> Result<StdioResults> {
    let mut contenders = Vec::new();
    if !settings.peers_only {
        contenders.extend([Contender::Mainstay, Contender::MainstayNew]);
    }
    if !settings.skip_everything {
        contenders.push(Contender::Everything);
    }
    let starts = measure_starts(&contenders, programs, scratch).await?;

    contenders.retain(|contender| *contender != Contender::MainstayNew);
    let mut servers = Vec::new();
    for contender in contenders {
        let (mut server, _) = contender.start(programs, scratch, 0).await?;
        server.call_once().await?;
        servers.push(server);
    }
    sleep(SETTLE).await;
    let idle = memory(&servers)?;
    let cells = run_rounds(&mut servers, settings).await?;
    sleep(SETTLE).await;
    let loaded = memory(&servers)?;
    let memory = servers
        .iter()
        .zip(idle.into_iter().zip(loaded))
        .map(|(server, (idle, after_load))| MemoryRow { server: server.server.name.to_owned(), idle, after_load })
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

async fn run_rounds(servers: &mut [StdioServer], settings: &Settings) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for in_flight in IN_FLIGHT {
        for server in servers.iter() {
            cells.push(Cell::new(server.server.name, in_flight));
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("stdio round {} of {}", round + 1, settings.rounds));
        for (at, in_flight) in IN_FLIGHT.into_iter().enumerate() {
            for turn in 0..servers.len() {
                let turn = (turn + round) % servers.len();
                let sample = measure(&mut servers[turn], in_flight, settings.seconds).await?;
                cells[at * servers.len() + turn].push(sample);
            }
        }
    }
    Ok(cells)
}

async fn measure(server: &mut StdioServer, in_flight: usize, length: Duration) -> Result<Sample> {
    let pid = server.server.pid;
    let window = Window::after(WARM_UP, length);
    let cost = async {
        sleep_until(window.from.into()).await;
        let before = ProcessorTime::now(pid)?;
        sleep_until(window.until.into()).await;
        anyhow::Ok((before, ProcessorTime::now(pid)?))
    };
    let (mut latencies, (before, after)) = tokio::try_join!(server.drive(in_flight, window), cost)?;
    Ok(latencies.sample(window.length(), before, after))
}

fn memory(servers: &[StdioServer]) -> Result<Vec<Memory>> {
    servers.iter().map(|server| Memory::of(server.server.pid)).collect()
}
