//! The HTTP half: all servers are up, and they take turns under load, round after round.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::process::Command;
use tokio::time::{sleep, sleep_until};

use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::http_load::{self, Connection, Ids};
use crate::bench_support::message::FIRST_ID;
use crate::bench_support::options::Settings;
use crate::bench_support::process_cost::{Memory, ProcessorTime};
use crate::bench_support::sample::{Sample, Window};
use crate::bench_support::servers::{Build, Programs, Server, command};
use crate::bench_support::{SETTLE, progress, turns};
use crate::protocol::Run;
use crate::protocol::message::{Echo, EchoRequest, Era, open_session};
use crate::protocol::results::{BARE_AXUM, BARE_RMCP, BARE_RMCP_SESSION, EVERYTHING, Names};

const CONNECTIONS: [usize; 2] = [1, 32];
const WARM_UP: Duration = Duration::from_millis(500);
/// Between two servers, so that the one before has finished what it puts off (garbage, group commits).
const PAUSE: Duration = Duration::from_millis(200);

const ECHO: Echo = Echo { tool: "echo", argument: "text" };

struct HttpServer {
    server: Server,
    port: u16,
}

/// One row of the table: a server, and the way it is spoken to.
struct Contender {
    name: &'static str,
    /// Position in the list of servers; Mainstay's two eras share one process.
    server: usize,
    echo: Echo,
    era: Era,
    /// One for each connection in the session era, opened once and used in every round.
    sessions: Vec<String>,
}

pub(crate) async fn run(programs: &Programs, scratch: &Path, run: &Run) -> Result<(Vec<Cell>, Vec<MemoryRow>)> {
    let mut contenders = Contenders::default();
    contenders.start(programs, scratch, run).await?;
    contenders.open_sessions().await?;

    sleep(SETTLE).await;
    let idle = contenders.memory()?;
    let cells = contenders.run_rounds(&run.settings).await?;
    sleep(SETTLE).await;
    let loaded = contenders.memory()?;

    let memory = contenders
        .servers
        .iter()
        .zip(idle.into_iter().zip(loaded))
        .map(|(http_server, (idle, after_load))| MemoryRow {
            server: http_server.server.name.to_owned(),
            idle,
            after_load,
        })
        .collect();
    Ok((cells, memory))
}

#[derive(Default)]
struct Contenders {
    servers: Vec<HttpServer>,
    all: Vec<Contender>,
    ids: Ids,
}

impl Contenders {
    async fn start(&mut self, programs: &Programs, scratch: &Path, run: &Run) -> Result<()> {
        self.ids = Arc::new(AtomicU64::new(FIRST_ID));
        for build in run.settings.builds.iter().copied() {
            let names = Names::of(build);
            let server = self.start_server(names.process, scratch, |port| {
                let directory = format!("serve-{}", names.directory);
                let mut mainstay = mainstay(programs, build, "serve", scratch, &directory)?;
                mainstay.args(["--listen", &format!("127.0.0.1:{port}")]);
                Ok(mainstay)
            });
            let server = server.await?;
            let echo = mainstay_echo();
            self.add_contender(names.stateless, server, echo, Era::Stateless);
            self.add_contender(names.session, server, echo, Era::Session);
        }
        if run.settings.peers {
            self.start_peers(programs, scratch).await?;
        }
        if run.everything {
            let server = self.start_server("server-everything", scratch, |port| {
                let mut everything = everything(programs, "streamableHttp")?;
                everything.env("PORT", port.to_string());
                Ok(everything)
            });
            let server = server.await?;
            self.add_contender(EVERYTHING, server, everything_echo(), Era::Session);
        }
        Ok(())
    }

    async fn start_peers(&mut self, programs: &Programs, scratch: &Path) -> Result<()> {
        let peers: [(&'static str, &str, &[&str], &'static str, Era); 3] = [
            ("bare-rmcp", "bare-rmcp", &[], BARE_RMCP, Era::Stateless),
            ("bare-rmcp --sessions", "bare-rmcp", &["--sessions"], BARE_RMCP_SESSION, Era::Session),
            ("bare-axum", "bare-axum", &[], BARE_AXUM, Era::Stateless),
        ];
        for (process, program, options, name, era) in peers {
            let program = programs.own(program)?;
            let server = self.start_server(process, scratch, |port| {
                let mut peer = command(&program);
                peer.arg(format!("127.0.0.1:{port}")).args(options);
                Ok(peer)
            });
            let server = server.await?;
            self.add_contender(name, server, ECHO, era);
        }
        Ok(())
    }

    /// Starts a server and returns its position in the list of servers.
    async fn start_server(
        &mut self,
        name: &'static str,
        scratch: &Path,
        command: impl FnOnce(u16) -> Result<Command>,
    ) -> Result<usize> {
        let (server, port) = Server::start_listening(name, scratch, command).await?;
        self.servers.push(HttpServer { server, port });
        Ok(self.servers.len() - 1)
    }

    fn add_contender(&mut self, name: &'static str, server: usize, echo: Echo, era: Era) {
        self.all.push(Contender { name, server, echo, era, sessions: Vec::new() });
    }

    /// Opens the sessions and has each server answer one call, so that a wrong answer shows before any figure.
    async fn open_sessions(&mut self) -> Result<()> {
        for contender in &mut self.all {
            let http_server = &self.servers[contender.server];
            let port = http_server.port;
            let opening = async {
                let most = CONNECTIONS.into_iter().max().unwrap_or(1);
                while contender.era == Era::Session && contender.sessions.len() < most {
                    let session = open_session(&mut Connection::open(port).await?, port).await?;
                    contender.sessions.push(session);
                }
                let mut request = contender.request(port, 0);
                let id = self.ids.fetch_add(1, Ordering::Relaxed);
                Connection::open(port).await?.call(&mut request, id).await
            };
            tokio::time::timeout(Duration::from_secs(20), opening)
                .await
                .unwrap_or_else(|_| anyhow::bail!("no answer in 20 s"))
                .with_context(|| http_server.with_log(contender.name))?;
        }
        Ok(())
    }

    async fn run_rounds(&self, settings: &Settings) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for connections in CONNECTIONS {
            for contender in &self.all {
                cells.push(Cell::new(contender.name, connections));
            }
        }
        for round in 0..settings.rounds {
            progress(&format!("HTTP round {} of {}", round + 1, settings.rounds));
            for (at, connections) in CONNECTIONS.into_iter().enumerate() {
                for turn in turns(round, self.all.len()) {
                    let contender = &self.all[turn];
                    let sample = self.measure(contender, connections, settings.length).await;
                    let sample = sample.with_context(|| self.servers[contender.server].with_log(contender.name))?;
                    cells[at * self.all.len() + turn].push(sample);
                    sleep(PAUSE).await;
                }
            }
        }
        Ok(cells)
    }

    async fn measure(&self, contender: &Contender, connections: usize, length: Duration) -> Result<Sample> {
        let HttpServer { server, port } = &self.servers[contender.server];
        let requests = (0..connections).map(|connection| contender.request(*port, connection)).collect();
        let window = Window::after(WARM_UP, length);
        let load = http_load::drive(*port, requests, &self.ids, window);
        let cost = async {
            sleep_until(window.from.into()).await;
            let before = ProcessorTime::now(server.pid)?;
            sleep_until(window.until.into()).await;
            anyhow::Ok((before, ProcessorTime::now(server.pid)?))
        };
        let (mut latencies, (before, after)) = tokio::try_join!(load, cost)?;
        Ok(latencies.sample(window.length(), before, after))
    }

    fn memory(&self) -> Result<Vec<Memory>> {
        self.servers.iter().map(|http_server| Memory::of(http_server.server.pid)).collect()
    }
}

impl Contender {
    fn request(&self, port: u16, connection: usize) -> EchoRequest {
        let session = self.sessions.get(connection).map(String::as_str);
        self.echo.http_call(port, self.era, session)
    }
}

impl HttpServer {
    fn with_log(&self, name: &str) -> String {
        format!("{name}; the end of its log:\n{}", self.server.log_tail())
    }
}

pub(crate) fn mainstay_echo() -> Echo {
    Echo { tool: "server_echo", argument: "text" }
}

pub(crate) fn everything_echo() -> Echo {
    Echo { tool: "echo", argument: "message" }
}

/// A build of Mainstay with its own data directory and an empty workspace, both named after `directory`.
pub(crate) fn mainstay(
    programs: &Programs,
    build: Build,
    transport: &str,
    scratch: &Path,
    directory: &str,
) -> Result<Command> {
    let data = scratch.join(format!("{directory}-data"));
    let workspace = scratch.join(format!("{directory}-workspace"));
    programs.mainstay(build, transport, &data, &workspace)
}

pub(crate) fn everything(programs: &Programs, transport: &str) -> Result<Command> {
    let mut everything = programs.npm("mcp-server-everything").context("give --skip-everything to go without it")?;
    everything.arg(transport);
    Ok(everything)
}
