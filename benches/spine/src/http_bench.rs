//! The HTTP half: all servers are up, and they take turns under load, round after round.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::process::Command;
use tokio::time::{sleep, sleep_until};

use yardstick::cell::{Cell, MemoryRow};
use yardstick::message::{FIRST_ID, Numbered};
use yardstick::process_cost::{Memory, ProcessorTime};
use yardstick::sample::{Sample, Window};
use yardstick::servers::{Programs, Server, command};
use yardstick::{SETTLE, progress, turns};

use crate::Settings;
use crate::http_load::{self, Connection, Ids};
use crate::message::{Echo, Era};
use crate::results::{BARE_AXUM, BARE_RMCP, BARE_RMCP_SESSION, EVERYTHING, MAINSTAY, MAINSTAY_SESSION};

const CONNECTIONS: [usize; 2] = [1, 32];
const WARM_UP: Duration = Duration::from_millis(500);
/// Between two servers, so that the one before has finished what it puts off (garbage, group commits).
const BREATH: Duration = Duration::from_millis(200);

const ECHO: Echo = Echo { tool: "echo", argument: "text" };

struct Listening {
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

pub(crate) async fn run(
    programs: &Programs,
    scratch: &Path,
    settings: &Settings,
) -> Result<(Vec<Cell>, Vec<MemoryRow>)> {
    let mut field = Field::default();
    field.line_up(programs, scratch, settings).await?;
    field.greet_all().await?;

    sleep(SETTLE).await;
    let idle = field.memory()?;
    let cells = field.run_rounds(settings).await?;
    sleep(SETTLE).await;
    let loaded = field.memory()?;

    let memory = field
        .servers
        .iter()
        .zip(idle.into_iter().zip(loaded))
        .map(|(listening, (idle, after_load))| MemoryRow { server: listening.server.name.to_owned(), idle, after_load })
        .collect();
    Ok((cells, memory))
}

#[derive(Default)]
struct Field {
    servers: Vec<Listening>,
    contenders: Vec<Contender>,
    ids: Ids,
}

impl Field {
    async fn line_up(&mut self, programs: &Programs, scratch: &Path, settings: &Settings) -> Result<()> {
        self.ids = Arc::new(AtomicU64::new(FIRST_ID));
        if !settings.peers_only {
            let server = Server::start_listening("mainstay serve", scratch, |port| {
                let mut mainstay = mainstay(programs, "serve", scratch, "serve")?;
                mainstay.args(["--listen", &format!("127.0.0.1:{port}")]);
                Ok(mainstay)
            });
            let server = self.add(server.await?);
            let echo = mainstay_echo();
            self.enter(MAINSTAY, server, echo, Era::Stateless);
            self.enter(MAINSTAY_SESSION, server, echo, Era::Session);
        }
        let program = programs.own("bare-rmcp")?;
        let server = Server::start_listening("bare-rmcp", scratch, |port| {
            let mut rmcp = command(&program);
            rmcp.arg(format!("127.0.0.1:{port}"));
            Ok(rmcp)
        });
        let server = self.add(server.await?);
        self.enter(BARE_RMCP, server, ECHO, Era::Stateless);
        let server = Server::start_listening("bare-rmcp --sessions", scratch, |port| {
            let mut rmcp = command(&program);
            rmcp.arg(format!("127.0.0.1:{port}")).arg("--sessions");
            Ok(rmcp)
        });
        let server = self.add(server.await?);
        self.enter(BARE_RMCP_SESSION, server, ECHO, Era::Session);

        if !settings.skip_everything {
            let server = Server::start_listening("server-everything", scratch, |port| {
                let mut everything = everything(programs, "streamableHttp")?;
                everything.env("PORT", port.to_string());
                Ok(everything)
            });
            let server = self.add(server.await?);
            self.enter(EVERYTHING, server, everything_echo(), Era::Session);
        }
        let program = programs.own("bare-axum")?;
        let server = Server::start_listening("bare-axum", scratch, |port| {
            let mut axum = command(&program);
            axum.arg(format!("127.0.0.1:{port}"));
            Ok(axum)
        });
        let server = self.add(server.await?);
        self.enter(BARE_AXUM, server, ECHO, Era::Stateless);
        Ok(())
    }

    fn add(&mut self, (server, port): (Server, u16)) -> usize {
        self.servers.push(Listening { server, port });
        self.servers.len() - 1
    }

    fn enter(&mut self, name: &'static str, server: usize, echo: Echo, era: Era) {
        self.contenders.push(Contender { name, server, echo, era, sessions: Vec::new() });
    }

    /// Opens the sessions and has each server answer one call, so that a wrong answer shows before any figure.
    async fn greet_all(&mut self) -> Result<()> {
        for contender in &mut self.contenders {
            let listening = &self.servers[contender.server];
            let port = listening.port;
            let greeting = async {
                let most = CONNECTIONS.into_iter().max().unwrap_or(1);
                while contender.era == Era::Session && contender.sessions.len() < most {
                    let session = Connection::open(port).await?.open_session(port).await?;
                    contender.sessions.push(session);
                }
                let mut request = contender.request(port, 0);
                let id = self.ids.fetch_add(1, Ordering::Relaxed);
                Connection::open(port).await?.call(&mut request, id).await
            };
            tokio::time::timeout(Duration::from_secs(20), greeting)
                .await
                .unwrap_or_else(|_| anyhow::bail!("no answer in 20 s"))
                .with_context(|| listening.complaint(contender.name))?;
        }
        Ok(())
    }

    async fn run_rounds(&self, settings: &Settings) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for connections in CONNECTIONS {
            for contender in &self.contenders {
                cells.push(Cell::new(contender.name, connections));
            }
        }
        for round in 0..settings.rounds {
            progress(&format!("HTTP round {} of {}", round + 1, settings.rounds));
            for (at, connections) in CONNECTIONS.into_iter().enumerate() {
                for turn in turns(round, self.contenders.len()) {
                    let contender = &self.contenders[turn];
                    let sample = self.measure(contender, connections, settings.seconds).await;
                    let sample = sample.with_context(|| self.servers[contender.server].complaint(contender.name))?;
                    cells[at * self.contenders.len() + turn].push(sample);
                    sleep(BREATH).await;
                }
            }
        }
        Ok(cells)
    }

    async fn measure(&self, contender: &Contender, connections: usize, length: Duration) -> Result<Sample> {
        let Listening { server, port } = &self.servers[contender.server];
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
        self.servers.iter().map(|listening| Memory::of(listening.server.pid)).collect()
    }
}

impl Contender {
    fn request(&self, port: u16, connection: usize) -> Numbered {
        let session = self.sessions.get(connection).map(String::as_str);
        self.echo.http_call(port, self.era, session)
    }
}

impl Listening {
    fn complaint(&self, name: &str) -> String {
        format!("{name}; the server's last words:\n{}", self.server.last_words())
    }
}

pub(crate) fn mainstay_echo() -> Echo {
    Echo { tool: "server_echo", argument: "text" }
}

pub(crate) fn everything_echo() -> Echo {
    Echo { tool: "echo", argument: "message" }
}

/// A data directory and an empty workspace for each server.
pub(crate) fn mainstay(programs: &Programs, transport: &str, scratch: &Path, of: &str) -> Result<Command> {
    let data = scratch.join(format!("{of}-data"));
    let workspace = scratch.join(format!("{of}-workspace"));
    programs.mainstay(transport, &data, &workspace)
}

pub(crate) fn everything(programs: &Programs, transport: &str) -> Result<Command> {
    let mut everything = programs.npm("mcp-server-everything").context("give --skip-everything to go without it")?;
    everything.arg(transport);
    Ok(everything)
}
