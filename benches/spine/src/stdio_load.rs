//! The load over a server's stdin and stdout: a fixed number of calls in flight, each answer making room for the next.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::{memchr, memmem};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::http_load::Window;
use crate::message::{self, Echo, Era, FIRST_ID, Numbered};
use crate::sample::Latencies;
use crate::servers::Server;

pub(crate) const MOST_IN_FLIGHT: usize = 128;

/// A server that has not answered by then is broken, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct StdioServer {
    pub(crate) server: Server,
    stdin: ChildStdin,
    stdout: ChildStdout,
    input: Vec<u8>,
    call: Numbered,
    /// Calls made so far. An id is this count times the number of slots, plus the call's slot.
    calls: u64,
}

impl StdioServer {
    /// Starts the process and returns once it has answered `initialize`, with the time that took.
    pub(crate) async fn start(
        name: &'static str,
        mut command: Command,
        echo: Echo,
        scratch: &Path,
    ) -> Result<(Self, Duration)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut server = Server::start(name, command, scratch)?;
        let stdin = server.child.stdin.take().context("no stdin")?;
        let stdout = server.child.stdout.take().context("no stdout")?;
        let mut this = Self {
            server,
            stdin,
            stdout,
            input: Vec::with_capacity(64 * 1024),
            call: Numbered::new(&(echo.call(Era::Session) + "\n")),
            calls: 0,
        };
        let took = timeout(PATIENCE, this.initialize(started))
            .await
            .unwrap_or_else(|_| bail!("no answer to initialize"))
            .with_context(|| this.complaint())?;
        Ok((this, took))
    }

    async fn initialize(&mut self, started: Instant) -> Result<Duration> {
        let opening = message::initialize() + "\n";
        self.stdin.write_all(opening.as_bytes()).await?;
        let line = self.first_line().await?;
        let took = started.elapsed();
        if memmem::find(&line, br#""serverInfo""#).is_none() {
            bail!("wrong answer to initialize: {}", String::from_utf8_lossy(&line));
        }
        let initialized = message::INITIALIZED.to_owned() + "\n";
        self.stdin.write_all(initialized.as_bytes()).await?;
        Ok(took)
    }

    async fn first_line(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = memchr(b'\n', &self.input) {
                return Ok(self.input.drain(..=end).collect());
            }
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<()> {
        if self.stdout.read_buf(&mut self.input).await? == 0 {
            bail!("the server closed its stdout");
        }
        Ok(())
    }

    pub(crate) async fn call_once(&mut self) -> Result<()> {
        let now = Instant::now();
        let already_over = Window { from: now, until: now };
        self.drive(1, already_over).await.map(drop)
    }

    /// Keeps `in_flight` calls under way until the window ends, then takes in the last answers.
    pub(crate) async fn drive(&mut self, in_flight: usize, window: Window) -> Result<Latencies> {
        let limit = (window.until + PATIENCE).into();
        tokio::time::timeout_at(limit, self.keep_calling(in_flight, window))
            .await
            .unwrap_or_else(|_| bail!("a call was not answered"))
            .with_context(|| self.complaint())
    }

    async fn keep_calling(&mut self, in_flight: usize, window: Window) -> Result<Latencies> {
        let mut latencies = Latencies::with_room();
        let mut slots: Vec<Option<(u64, Instant)>> = vec![None; in_flight];
        let mut output = Vec::with_capacity(64 * 1024);
        for (slot, place) in slots.iter_mut().enumerate() {
            *place = Some((self.write_call(slot, &mut output), Instant::now()));
        }
        let mut under_way = in_flight;
        while under_way > 0 {
            // All that is in flight fits into a pipe in each direction, so this never waits for a server that waits for us.
            self.stdin.write_all(&output).await?;
            output.clear();
            self.receive().await?;
            let now = Instant::now();
            let mut at = 0;
            while let Some(end) = memchr(b'\n', &self.input[at..]) {
                let line = at..at + end;
                at += end + 1;
                let Some((slot, id, sent)) = answered(&self.input[line.clone()], &mut slots)? else {
                    continue;
                };
                message::check_echo(&self.input[line], id)?;
                if sent >= window.from && now <= window.until {
                    latencies.record(now - sent);
                }
                if now < window.until {
                    slots[slot] = Some((self.write_call(slot, &mut output), now));
                } else {
                    under_way -= 1;
                }
            }
            self.input.drain(..at);
        }
        Ok(latencies)
    }

    fn write_call(&mut self, slot: usize, output: &mut Vec<u8>) -> u64 {
        let id = FIRST_ID + self.calls * MOST_IN_FLIGHT as u64 + slot as u64;
        self.calls += 1;
        output.extend_from_slice(self.call.with(id));
        id
    }

    fn complaint(&self) -> String {
        let name = self.server.name;
        format!("{name}; the server's last words:\n{}", self.server.last_words())
    }
}

/// Which call a line answers; its slot is empty afterwards. `None` for a notification, which servers may send any time.
fn answered(line: &[u8], slots: &mut [Option<(u64, Instant)>]) -> Result<Option<(usize, u64, Instant)>> {
    if memmem::find(line, br#""method":"#).is_some() {
        return Ok(None);
    }
    let expected = message::answered_id(line).and_then(|id| {
        let slot = usize::try_from((id - FIRST_ID) % MOST_IN_FLIGHT as u64).ok()?;
        let (sent_id, sent) = slots.get_mut(slot)?.take()?;
        (sent_id == id).then_some((slot, id, sent))
    });
    match expected {
        Some(call) => Ok(Some(call)),
        None => bail!("an answer nobody waits for: {}", String::from_utf8_lossy(line)),
    }
}
