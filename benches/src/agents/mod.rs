//! What a `log_activity` call costs in a store of a thousand rows and in one of a million, in one run.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use memchr::memmem;
use serde::Serialize;
use serde_json::json;

use crate::bench_support::baseline::{self, Comparison, compare_rates, comparison_table};
use crate::bench_support::cell::Cell;
use crate::bench_support::message::tool_call;
use crate::bench_support::options::{Options, Settings};
use crate::bench_support::report::{disturbance, heading, ratio_row, table_head, table_row, target_table};
use crate::bench_support::servers::Build;
use crate::bench_support::stdio::{Load, StdioServer};
use crate::bench_support::target::Target;
use crate::bench_support::{machine, progress, turns};

const SECONDS: f64 = 2.0;
const SMALL: &str = "small store";
const LARGE: &str = "large store";
const BASELINE_SMALL: &str = "baseline, small store";
const BASELINE_LARGE: &str = "baseline, large store";
const SMALL_ROWS: usize = 1_000;
const IN_FLIGHT: [usize; 2] = [1, 64];
/// How many times as long a call may take in the large store.
const WANTED: f64 = 1.3;
/// How a store is filled: so many calls in flight, for so long before the rows are counted again.
const FILLING: (usize, Duration) = (128, Duration::from_secs(10));
const AGENTS: usize = 200;

/// Measures what logging an activity costs as the store grows.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Rows in the large store
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
}

#[derive(Serialize)]
struct Results {
    machine: String,
    rows: [usize; 2],
    cells: Vec<Cell>,
    comparisons: Vec<Comparison>,
    targets: Vec<Target>,
}

struct Contender {
    name: &'static str,
    server: StdioServer,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let settings = arguments.options.settings(SECONDS)?;
    ensure!(!settings.builds.is_empty(), "this benchmark has no peers: leave out --peers-only");
    let programs = settings.programs()?;
    let scratch = programs.scratch()?;
    let mut contenders = Vec::new();
    for build in settings.builds.iter().copied() {
        let (small, large) = match build {
            Build::Current => (SMALL, LARGE),
            Build::Baseline => (BASELINE_SMALL, BASELINE_LARGE),
        };
        for (name, rows) in [(small, SMALL_ROWS), (large, arguments.rows)] {
            let data = scratch.path().join(name.replace([' ', ','], "-"));
            let command = programs.mainstay(build, "stdio", &data, &scratch.path().join("workspace"))?;
            let (mut server, _) = StdioServer::start(name, command, scratch.path()).await?;
            fill(&mut server, rows).await.with_context(|| format!("cannot fill the {name}"))?;
            contenders.push(Contender { name, server });
        }
    }
    let cells = measure(&mut contenders, &settings).await?;
    let mut comparisons = compare_rates("log_activity", &cells, SMALL, BASELINE_SMALL);
    comparisons.extend(compare_rates("log_activity", &cells, LARGE, BASELINE_LARGE));
    let mut targets = judge(&cells);
    targets.extend(baseline::target(&comparisons));
    let results = Results { machine: machine(), rows: [SMALL_ROWS, arguments.rows], cells, comparisons, targets };
    print!("{}", results.report(&settings)?);
    settings.save(&results)
}

/// Fills a store call by call, as in production, to at least so many rows.
async fn fill(server: &mut StdioServer, rows: usize) -> Result<()> {
    let (in_flight, length) = FILLING;
    let logged = Arc::<AtomicUsize>::default();
    while logged.load(Ordering::Relaxed) < rows {
        let left = rows - logged.load(Ordering::Relaxed);
        progress(&format!("filling a store: {left} of {rows} rows to go"));
        server.measure(&mut load(&logged), in_flight, if left <= SMALL_ROWS { length / 100 } else { length }).await?;
    }
    Ok(())
}

async fn measure(contenders: &mut [Contender], settings: &Settings) -> Result<Vec<Cell>> {
    let mut cells: Vec<Cell> = Vec::new();
    for in_flight in IN_FLIGHT {
        let mut row: Vec<Cell> = contenders.iter().map(|contender| Cell::new(contender.name, in_flight)).collect();
        for round in 0..settings.rounds {
            progress(&format!("{in_flight} in flight, round {} of {}", round + 1, settings.rounds));
            for at in turns(round, contenders.len()) {
                let server = &mut contenders[at].server;
                row[at].push(server.measure(&mut load(&Arc::default()), in_flight, settings.length).await?);
            }
        }
        cells.append(&mut row);
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
        let ratio = Cell::ratio(cells, SMALL, LARGE, in_flight).map(|ratio| ratio.median);
        Target::at_most(format!("time of log_activity, {LARGE} / {SMALL}, {in_flight} in flight"), WANTED, ratio)
    });
    judged.into()
}

impl Results {
    fn report(&self, settings: &Settings) -> Result<String> {
        let mut out = String::new();
        heading(&mut out, &self.machine, settings.rounds, settings.length.as_secs_f64())?;
        let [small, large] = self.rows;
        writeln!(out, "{SMALL}: {small} rows, {LARGE}: {large} rows")?;
        for in_flight in IN_FLIGHT {
            table_head(&mut out, &format!("log_activity over stdio, {in_flight} in flight"))?;
            let cells = self.cells.iter().filter(|cell| cell.at_once == in_flight);
            cells.into_iter().try_for_each(|cell| table_row(&mut out, cell))?;
            for (large, small) in [(LARGE, SMALL), (BASELINE_LARGE, BASELINE_SMALL)] {
                // Rates are compared the other way round: half the calls per second is twice the time.
                if let Some(ratio) = Cell::ratio(&self.cells, small, large, in_flight) {
                    ratio_row(&mut out, &format!("time, {large} / {small}"), ratio)?;
                }
            }
        }
        disturbance(&mut out, self.cells.iter().flat_map(Cell::others_cores))?;
        comparison_table(&mut out, &self.comparisons)?;
        target_table(&mut out, &self.targets)?;
        Ok(out)
    }
}
