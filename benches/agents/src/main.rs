//! What a `log_activity` call costs in a store of a thousand rows and in one of a million, in one run.

#![expect(clippy::print_stdout, reason = "the tables are what a benchmark is for")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use memchr::memmem;
use serde::Serialize;
use serde_json::json;
use yardstick::cell::Cell;
use yardstick::message::tool_call;
use yardstick::report::{disturbance, ratio_row, table_head, table_row, target_table};
use yardstick::servers::Programs;
use yardstick::stdio::{Load, StdioServer};
use yardstick::target::Target;
use yardstick::{machine, progress, save_json, turns, until_stopped, window_length};

const FEW: (&str, usize) = ("1,000 rows", 1_000);
const MANY: (&str, usize) = ("1,000,000 rows", 1_000_000);
const IN_FLIGHT: [usize; 2] = [1, 64];
/// How many times as long a call may take with many rows.
const WANTED: f64 = 1.3;
/// How a store is filled: so many calls in flight, for so long before it is looked how far it is.
const FILLING: (usize, Duration) = (128, Duration::from_secs(10));
const AGENTS: usize = 200;

#[derive(Parser)]
#[command(about = "Measures what logging an activity costs as the store grows")]
struct Arguments {
    /// Seconds under load in each round
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Rounds in which the servers take turns; the median of them is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Save all figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Serialize)]
struct Results {
    machine: String,
    cells: Vec<Cell>,
    targets: Vec<Target>,
}

struct Contender {
    name: &'static str,
    server: StdioServer,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    until_stopped(run(&arguments)).await
}

async fn run(arguments: &Arguments) -> Result<()> {
    let length = window_length(arguments.rounds, arguments.seconds)?;
    let programs = Programs::find()?;
    let scratch = programs.scratch()?;
    let mut contenders = Vec::new();
    for (at, (name, rows)) in [FEW, MANY].into_iter().enumerate() {
        let data = scratch.path().join(format!("data{at}"));
        let command = programs.mainstay("stdio", &data, &scratch.path().join("workspace"))?;
        let (mut server, _) = StdioServer::start(name, command, scratch.path()).await?;
        fill(&mut server, rows).await.with_context(|| format!("the store of {name} could not be filled"))?;
        contenders.push(Contender { name, server });
    }
    let cells = measure(&mut contenders, arguments.rounds, length).await?;
    let targets = judge(&cells);
    println!("{}", report(arguments, &cells, &targets)?);
    let results = Results { machine: machine(), cells, targets };
    arguments.json.as_deref().map_or(Ok(()), |path| save_json(&results, path))
}

/// Fills a store as it is filled in life, call by call, to at least so many rows.
async fn fill(server: &mut StdioServer, rows: usize) -> Result<()> {
    let (in_flight, length) = FILLING;
    let logged = Arc::<AtomicUsize>::default();
    while logged.load(Ordering::Relaxed) < rows {
        let left = rows - logged.load(Ordering::Relaxed);
        progress(&format!("filling a store: {left} of {rows} rows to go"));
        server.measure(&mut load(&logged), in_flight, if left <= FEW.1 { length / 100 } else { length }).await?;
    }
    Ok(())
}

async fn measure(contenders: &mut [Contender], rounds: usize, length: Duration) -> Result<Vec<Cell>> {
    let mut cells: Vec<Cell> = Vec::new();
    for in_flight in IN_FLIGHT {
        let mut pair: Vec<Cell> = contenders.iter().map(|contender| Cell::new(contender.name, in_flight)).collect();
        for round in 0..rounds {
            progress(&format!("{in_flight} in flight, round {} of {rounds}", round + 1));
            for at in turns(round, contenders.len()) {
                let sample = contenders[at].server.measure(&mut load(&Arc::default()), in_flight, length).await?;
                pair[at].push(sample);
            }
        }
        cells.append(&mut pair);
    }
    Ok(cells)
}

/// Logs for one agent after the other, and counts what was logged.
fn load(logged: &Arc<AtomicUsize>) -> Load {
    let calls: Vec<String> = (0..AGENTS)
        .map(|agent| {
            let arguments = json!({
                "agent": format!("agent-{agent}"), "activity": "Processing request", "category": "task",
                "status": "completed",
            });
            tool_call("agents_log_activity", &arguments)
        })
        .collect();
    let count = logged.clone();
    Load::new(&calls, move |line, _| {
        let logged = memmem::find(line, br#""success":true"#).is_some();
        ensure!(logged, "not logged: {}", String::from_utf8_lossy(line));
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

fn judge(cells: &[Cell]) -> Vec<Target> {
    let judged = IN_FLIGHT.map(|in_flight| {
        let ratio = Cell::ratio(cells, FEW.0, MANY.0, in_flight).map(|ratio| ratio.median);
        let what = format!("time of log_activity at {} / at {}, {in_flight} in flight", MANY.0, FEW.0);
        Target::at_most(what, WANTED, ratio)
    });
    judged.into()
}

fn report(arguments: &Arguments, cells: &[Cell], targets: &[Target]) -> Result<String> {
    let mut out = String::new();
    let Arguments { rounds, seconds, .. } = arguments;
    writeln!(out, "{}; {rounds} rounds of {seconds} s, medians of each round's own (least to most)", machine())?;
    for in_flight in IN_FLIGHT {
        table_head(&mut out, &format!("log_activity over stdio, {in_flight} in flight, store of"))?;
        cells.iter().filter(|cell| cell.at_once == in_flight).try_for_each(|cell| table_row(&mut out, cell))?;
        if let Some(ratio) = Cell::ratio(cells, FEW.0, MANY.0, in_flight) {
            ratio_row(&mut out, &format!("time, {} / {}", MANY.0, FEW.0), ratio)?;
        }
    }
    disturbance(&mut out, cells.iter().flat_map(Cell::others_cores))?;
    target_table(&mut out, targets)?;
    Ok(out)
}
