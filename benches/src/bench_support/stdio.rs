//! The load over a server's stdin and stdout: a fixed number of calls in flight, each answer making room for the next.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::{memchr, memmem};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::{sleep_until, timeout};

use crate::bench_support::message::{self, FIRST_ID, Numbered};
use crate::bench_support::process_cost::ProcessorTime;
use crate::bench_support::sample::{Latencies, Sample, Window};
use crate::bench_support::servers::Server;

pub(crate) const MOST_IN_FLIGHT: usize = 128;

const WARM_UP: Duration = Duration::from_millis(500);
/// A server that has not answered by then is broken, however slow the machine.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Says what is wrong with the answer to the call of this number, if something is.
type Check = Box<dyn Fn(&[u8], u64) -> Result<()>>;

/// A call made over and over, or several in turns, and how an answer is known to be right. A wrong answer ends the
/// benchmark: figures for anything but the call itself mean nothing.
pub(crate) struct Load {
    calls: Vec<Numbered>,
    turn: usize,
    check: Check,
}

impl Load {
    pub(crate) fn new(calls: &[String], check: impl Fn(&[u8], u64) -> Result<()> + 'static) -> Self {
        let calls = calls.iter().map(|call| Numbered::new(&format!("{call}\n"))).collect();
        Self { calls, turn: 0, check: Box::new(check) }
    }

    fn next(&mut self, id: u64) -> &[u8] {
        self.turn = (self.turn + 1) % self.calls.len();
        let before = (self.turn + self.calls.len() - 1) % self.calls.len();
        self.calls[before].with(id)
    }
}

pub(crate) struct StdioServer {
    pub(crate) server: Server,
    stdin: ChildStdin,
    stdout: ChildStdout,
    input: Vec<u8>,
    /// How much of the input is known to hold no end of a line, so that a long one is not searched again and again.
    searched: usize,
    /// Calls made so far. An id is this count times the number of slots, plus the call's slot.
    calls: u64,
}

impl StdioServer {
    /// Starts the process and returns once it has answered `initialize`, with the time that took.
    pub(crate) async fn start(name: &'static str, mut command: Command, scratch: &Path) -> Result<(Self, Duration)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut server = Server::start(name, command, scratch)?;
        let stdin = server.child.stdin.take().context("no stdin")?;
        let stdout = server.child.stdout.take().context("no stdout")?;
        let input = Vec::with_capacity(64 * 1024);
        let mut this = Self { server, stdin, stdout, input, searched: 0, calls: 0 };
        let took = timeout(TIMEOUT, this.initialize(started))
            .await
            .unwrap_or_else(|_| bail!("no answer to initialize"))
            .with_context(|| this.with_log())?;
        Ok((this, took))
    }

    async fn initialize(&mut self, started: Instant) -> Result<Duration> {
        let opening = message::initialize() + "\n";
        self.stdin.write_all(opening.as_bytes()).await?;
        let line = self.line().await?;
        let took = started.elapsed();
        if memmem::find(&line, br#""serverInfo""#).is_none() {
            bail!("wrong answer to initialize: {}", message::shown(&line));
        }
        let initialized = message::INITIALIZED.to_owned() + "\n";
        self.stdin.write_all(initialized.as_bytes()).await?;
        Ok(took)
    }

    async fn line(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = memchr(b'\n', &self.input[self.searched..]) {
                let length = self.searched + end + 1;
                self.searched = 0;
                return Ok(self.input.drain(..length).collect());
            }
            self.searched = self.input.len();
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<()> {
        if self.stdout.read_buf(&mut self.input).await? == 0 {
            bail!("the server closed its stdout");
        }
        Ok(())
    }

    /// Makes one call and returns the line that answers it.
    pub(crate) async fn ask(&mut self, call: &str) -> Result<Vec<u8>> {
        timeout(TIMEOUT, self.ask_patiently(call))
            .await
            .unwrap_or_else(|_| bail!("a call was not answered: {call}"))
            .with_context(|| self.with_log())
    }

    async fn ask_patiently(&mut self, call: &str) -> Result<Vec<u8>> {
        let id = self.next_id(0);
        let mut call = Numbered::new(&format!("{call}\n"));
        self.exchange(call.with(id), id).await
    }

    async fn exchange(&mut self, call: &[u8], id: u64) -> Result<Vec<u8>> {
        self.stdin.write_all(call).await?;
        loop {
            let line = self.line().await?;
            if is_answer(&line) {
                if message::answered_id(&line) == Some(id) {
                    return Ok(line);
                }
                bail!("an answer nobody waits for: {}", message::shown(&line));
            }
        }
    }

    pub(crate) async fn call_once(&mut self, load: &mut Load) -> Result<()> {
        let now = Instant::now();
        let already_over = Window { from: now, until: now };
        self.drive(load, 1, already_over).await.map(drop)
    }

    /// One round: a warm-up, then `length` of calls that count.
    pub(crate) async fn measure(&mut self, load: &mut Load, in_flight: usize, length: Duration) -> Result<Sample> {
        let pid = self.server.pid;
        let window = Window::after(WARM_UP, length);
        let cost = async {
            sleep_until(window.from.into()).await;
            let before = ProcessorTime::now(pid)?;
            sleep_until(window.until.into()).await;
            anyhow::Ok((before, ProcessorTime::now(pid)?))
        };
        let (mut latencies, (before, after)) = tokio::try_join!(self.drive(load, in_flight, window), cost)?;
        Ok(latencies.sample(window.length(), before, after))
    }

    /// One round of one call after the other, for `length` and until the last of them is answered: for a server that
    /// may need longer for one call than a window lasts. What comes before it has to warm the server up.
    pub(crate) async fn measure_whole_calls(&mut self, load: &mut Load, length: Duration) -> Result<Sample> {
        let mut latencies = Latencies::with_room();
        let pid = self.server.pid;
        let before = ProcessorTime::now(pid)?;
        let began = Instant::now();
        while began.elapsed() < length {
            latencies.record(self.time_one(load).await?);
        }
        let length = began.elapsed();
        Ok(latencies.sample(length, before, ProcessorTime::now(pid)?))
    }

    /// How long one call takes, from before it is written until its answer has been read.
    pub(crate) async fn time_one(&mut self, load: &mut Load) -> Result<Duration> {
        let id = self.next_id(0);
        let sent = Instant::now();
        let line = timeout(TIMEOUT, self.exchange(load.next(id), id))
            .await
            .unwrap_or_else(|_| bail!("a call was not answered"))
            .with_context(|| self.with_log())?;
        let took = sent.elapsed();
        (load.check)(&line, id)?;
        Ok(took)
    }

    /// Keeps `in_flight` calls under way until the window ends, then takes in the last answers.
    async fn drive(&mut self, load: &mut Load, in_flight: usize, window: Window) -> Result<Latencies> {
        let limit = (window.until + TIMEOUT).into();
        tokio::time::timeout_at(limit, self.keep_calling(load, in_flight, window))
            .await
            .unwrap_or_else(|_| bail!("a call was not answered"))
            .with_context(|| self.with_log())
    }

    async fn keep_calling(&mut self, load: &mut Load, in_flight: usize, window: Window) -> Result<Latencies> {
        let mut latencies = Latencies::with_room();
        let mut slots: Vec<Option<(u64, Instant)>> = vec![None; in_flight];
        let mut output = Vec::with_capacity(64 * 1024);
        for (slot, place) in slots.iter_mut().enumerate() {
            *place = Some((self.write_call(load, slot, &mut output), Instant::now()));
        }
        let mut under_way = in_flight;
        while under_way > 0 {
            // All requests in flight fit into a pipe, so this never waits for a server that waits for us to read.
            self.stdin.write_all(&output).await?;
            output.clear();
            self.receive().await?;
            let now = Instant::now();
            let mut at = 0;
            while let Some(end) = memchr(b'\n', &self.input[at.max(self.searched)..]) {
                let line = at..at.max(self.searched) + end;
                at = line.end + 1;
                let Some((slot, id, sent)) = answered(&self.input[line.clone()], &mut slots)? else {
                    continue;
                };
                (load.check)(&self.input[line], id)?;
                // By when it was answered alone: leaving out what was under way when the window began would cost a
                // slow server with many calls in flight a whole latency's worth of them.
                if (window.from..=window.until).contains(&now) {
                    latencies.record(now - sent);
                }
                if now < window.until {
                    slots[slot] = Some((self.write_call(load, slot, &mut output), now));
                } else {
                    under_way -= 1;
                }
            }
            self.input.drain(..at);
            self.searched = self.input.len();
        }
        self.searched = 0;
        Ok(latencies)
    }

    fn write_call(&mut self, load: &mut Load, slot: usize, output: &mut Vec<u8>) -> u64 {
        let id = self.next_id(slot);
        output.extend_from_slice(load.next(id));
        id
    }

    fn next_id(&mut self, slot: usize) -> u64 {
        let id = FIRST_ID + self.calls * MOST_IN_FLIGHT as u64 + slot as u64;
        self.calls += 1;
        id
    }

    fn with_log(&self) -> String {
        let name = self.server.name;
        format!("{name}; the server's last words:\n{}", self.server.log_tail())
    }
}

/// Not a notification or a request of the server's own, which may come at any time.
fn is_answer(line: &[u8]) -> bool {
    memmem::find(line, br#""method":"#).is_none()
}

/// Which call a line answers; its slot is empty afterwards. `None` for what is no answer.
fn answered(line: &[u8], slots: &mut [Option<(u64, Instant)>]) -> Result<Option<(usize, u64, Instant)>> {
    if !is_answer(line) {
        return Ok(None);
    }
    let expected = message::answered_id(line).and_then(|id| {
        let slot = usize::try_from((id - FIRST_ID) % MOST_IN_FLIGHT as u64).ok()?;
        let (sent_id, sent) = slots.get_mut(slot)?.take()?;
        (sent_id == id).then_some((slot, id, sent))
    });
    match expected {
        Some(call) => Ok(Some(call)),
        None => bail!("an answer nobody waits for: {}", message::shown(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_load_take_turns() {
        let mut load = Load::new(&["a".to_owned(), "b".to_owned()], |_, _| Ok(()));
        let said: Vec<Vec<u8>> = (0..3).map(|id| load.next(id).to_vec()).collect();
        assert_eq!(said, [b"a\n", b"b\n", b"a\n"]);
    }

    #[test]
    fn an_answer_to_another_call_is_refused() {
        let mut slots = vec![Some((FIRST_ID, Instant::now()))];
        assert!(answered(br#"{"id":1000000128,"result":{}}"#, &mut slots).is_err());
        let mut slots = vec![Some((FIRST_ID, Instant::now()))];
        assert!(answered(br#"{"id":1000000000,"result":{}}"#, &mut slots).unwrap().is_some());
    }
}
