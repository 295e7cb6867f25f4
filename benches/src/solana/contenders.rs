//! Who takes part, and the rounds in which they take turns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::{sleep, sleep_until};

use crate::bench_support::cell::Cell;
use crate::bench_support::http_load::{self, Connection, Ids};
use crate::bench_support::message::FIRST_ID;
use crate::bench_support::options::Settings;
use crate::bench_support::process_cost::ProcessorTime;
use crate::bench_support::sample::{Sample, Window};
use crate::bench_support::servers::{Build, Programs, Server};
use crate::bench_support::{progress, turns};
use crate::solana::call::{Read, ReadRequest};
use crate::solana::distance::delayed;
use crate::solana::node::Node;
use crate::solana::results::{NODE, Names, Part, parts};

const WARM_UP: Duration = Duration::from_millis(500);
/// Between two contenders, so that the one before has finished what it puts off.
const PAUSE: Duration = Duration::from_millis(200);

/// One build of Mainstay, once without and once with its cache.
struct Mainstay {
    names: &'static Names,
    uncached: (Server, u16),
    cached: (Server, u16),
}

pub(crate) struct Contenders<'a> {
    node: &'a Node,
    /// The port at which the node answers, with the delay.
    port: u16,
    delay: Duration,
    builds: Vec<Mainstay>,
    /// Whether the node is measured, too.
    measures_node: bool,
    ids: Ids,
}

/// One row of a table.
struct Row<'a> {
    name: &'static str,
    server: &'a Server,
    port: u16,
    request: fn(Read, u16) -> ReadRequest,
}

impl<'a> Contenders<'a> {
    /// Everyone, with a node whose answers come so much later.
    pub(crate) async fn start(
        programs: &Programs,
        scratch: &Path,
        settings: &Settings,
        node: &'a Node,
        delay: Duration,
    ) -> Result<Self> {
        let port = if delay.is_zero() { node.port } else { delayed(node.port, delay).await? };
        let url = format!("http://127.0.0.1:{port}");
        let mut builds = Vec::new();
        for build in settings.builds.iter().copied() {
            let names = Names::of(build);
            let start = |process, more| start_mainstay(programs, scratch, build, process, &url, more);
            let uncached = start(names.uncached_process, Some(("MAINSTAY__SOLANA__CACHE_BYTES", "0"))).await?;
            let cached = start(names.cached_process, None).await?;
            builds.push(Mainstay { names, uncached, cached });
        }
        let ids = Arc::new(AtomicU64::new(FIRST_ID));
        let contenders = Self { node, port, delay, builds, measures_node: settings.peers, ids };
        contenders.try_all().await?;
        Ok(contenders)
    }

    /// The rows of a part; the node is the last.
    fn rows(&self, part: &Part) -> Vec<Row<'_>> {
        let mainstay = self.builds.iter().map(|build| {
            let (name, (server, port)) = if part.is_cached() {
                (build.names.cached, &build.cached)
            } else {
                (build.names.uncached, &build.uncached)
            };
            Row { name, server, port: *port, request: Read::at_mainstay }
        });
        let node = Row { name: NODE, server: &self.node.server, port: self.port, request: Read::at_node };
        mainstay.chain(self.measures_node.then_some(node)).collect()
    }

    /// Has everyone answer every call once, so that a wrong answer shows before any figure.
    async fn try_all(&self) -> Result<()> {
        for part in parts(self.delay) {
            for row in self.rows(&part) {
                let trying = async {
                    let id = self.ids.fetch_add(1, Ordering::Relaxed);
                    Connection::open(row.port).await?.call(&mut (row.request)(part.read, row.port), id).await
                };
                tokio::time::timeout(Duration::from_secs(20), trying)
                    .await
                    .unwrap_or_else(|_| anyhow::bail!("no answer in 20 s"))
                    .with_context(|| row.with_log())?;
            }
        }
        Ok(())
    }

    pub(crate) async fn run_rounds(&self, settings: &Settings) -> Result<Vec<Part>> {
        let mut parts = parts(self.delay);
        for part in &mut parts {
            part.cells = self.rows(part).iter().map(|row| Cell::new(row.name, part.at_once())).collect();
        }
        for round in 0..settings.rounds {
            progress(&format!("round {} of {}", round + 1, settings.rounds));
            for part in &mut parts {
                let rows = self.rows(part);
                for turn in turns(round, rows.len()) {
                    let sample = self.measure(&rows[turn], part, settings.length).await;
                    part.cells[turn].push(sample.with_context(|| rows[turn].with_log())?);
                    sleep(PAUSE).await;
                }
            }
        }
        Ok(parts)
    }

    async fn measure(&self, row: &Row<'_>, part: &Part, length: Duration) -> Result<Sample> {
        let requests = (0..part.at_once()).map(|_| (row.request)(part.read, row.port)).collect();
        let window = Window::after(WARM_UP, length);
        let load = http_load::drive(row.port, requests, &self.ids, window);
        let cost = async {
            sleep_until(window.from.into()).await;
            let before = ProcessorTime::now(row.server.pid)?;
            sleep_until(window.until.into()).await;
            anyhow::Ok((before, ProcessorTime::now(row.server.pid)?))
        };
        let (mut latencies, (before, after)) = tokio::try_join!(load, cost)?;
        Ok(latencies.sample(window.length(), before, after))
    }
}

impl Row<'_> {
    fn with_log(&self) -> String {
        format!("{}; the end of its log:\n{}", self.name, self.server.log_tail())
    }
}

async fn start_mainstay(
    programs: &Programs,
    scratch: &Path,
    build: Build,
    name: &'static str,
    node: &str,
    more: Option<(&str, &str)>,
) -> Result<(Server, u16)> {
    Server::start_listening(name, scratch, |port| {
        let directory = |what: &str| scratch.join(format!("{}-{what}", name.replace([' ', ','], "-")));
        let mut mainstay = programs.mainstay(build, "serve", &directory("data"), &directory("workspace"))?;
        mainstay.args(["--listen", &format!("127.0.0.1:{port}")]).env("SOLANA_RPC_URL", node).envs(more);
        Ok(mainstay)
    })
    .await
}
