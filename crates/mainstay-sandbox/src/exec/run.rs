//! Runs a command to its end, and forwards its output to a listener while it appears.
//!
//! The command never waits for the listener: one that is too slow misses some of the output, is told how many bytes, and
//! finds all that was kept in the result.

use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::{BoxFuture, Error, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::capture::{CapturedText, HeadTail, decode_chunk};
use super::{Child, Command, ExitStatus, Sandbox, Signal};

/// The result of a command that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: ExitStatus,
    pub stdout: CapturedText,
    pub stderr: CapturedText,
    pub duration: Duration,
    pub timed_out: bool,
}

/// How long a command has after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// How long the kernel may take to end killed processes.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

impl Sandbox {
    /// Runs a command for at most `limit`, then ends it. If the future is dropped, the command is ended too.
    pub async fn run(
        &self,
        command: &Command,
        input: Option<String>,
        limit: Duration,
        listener: Option<OutputListener<'_>>,
    ) -> Result<CommandOutput> {
        let begun = Instant::now();
        let Ok(started) = timeout(limit, self.start(command)).await else {
            // The time was up before it had been started.
            let (status, nothing) = (ExitStatus::killed_by(libc::SIGKILL), CapturedText::default());
            let (stdout, stderr) = (nothing.clone(), nothing);
            return Ok(CommandOutput { status, stdout, stderr, duration: begun.elapsed(), timed_out: true });
        };
        let mut child = started?;
        let stop = child.stop_handle().map_err(Error::internal)?;
        let cap = self.settings().output_bytes;
        let mut work = pin!(run_to_end(&mut child, input, cap, listener));
        let mut finished = timeout(limit.saturating_sub(begun.elapsed()), &mut work).await;
        let timed_out = finished.is_err();
        for (signal, wait) in [(Signal::Term, GRACE), (Signal::Kill, KILL_TIMEOUT)] {
            if finished.is_err() {
                stop.signal(signal);
                finished = timeout(wait, &mut work).await;
            }
        }
        let finished =
            finished.map_err(|_elapsed| Error::internal("the kernel did not end a killed command within 30 s"))?;
        let (status, stdout, stderr) = finished.map_err(Error::internal)?;
        Ok(CommandOutput { status, stdout, stderr, duration: begun.elapsed(), timed_out })
    }
}

async fn run_to_end(
    child: &mut Child,
    input: Option<String>,
    cap: usize,
    listener: Option<OutputListener<'_>>,
) -> io::Result<(ExitStatus, CapturedText, CapturedText)> {
    let (sink, output, errors) = (child.input.take(), child.output.take(), child.errors.take());
    let forwarder = OutputForwarder::default();
    let forwarded = listener.map(|_| &forwarder);
    let work = async {
        let done = tokio::try_join!(
            child.wait(),
            capture(output, "stdout", cap, forwarded),
            capture(errors, "stderr", cap, forwarded),
            feed(sink, input),
        );
        forwarder.finish();
        done.map(|(status, stdout, stderr, ())| (status, stdout, stderr))
    };
    match listener {
        None => work.await,
        Some(listener) => forwarder.forward_during(work, listener).await,
    }
}

async fn capture(
    stream: Option<pipe::Receiver>,
    name: &'static str,
    cap: usize,
    forwarder: Option<&OutputForwarder>,
) -> io::Result<CapturedText> {
    let mut kept = HeadTail::new(cap);
    let mut held = Vec::new();
    let Some(mut stream) = stream else { return Ok(kept.into_text()) };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        kept.push(&buffer[..read]);
        if let Some(forwarder) = forwarder {
            forwarder.add(name, &decode_chunk(&mut held, &buffer[..read]));
        }
        if read == 0 {
            return Ok(kept.into_text());
        }
    }
}

/// Writes the input. A command need not read it, so a broken pipe is no error.
async fn feed(sink: Option<pipe::Sender>, input: Option<String>) -> io::Result<()> {
    let (Some(mut sink), Some(input)) = (sink, input) else { return Ok(()) };
    match sink.write_all(input.as_bytes()).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// How long output is collected before it is forwarded, so that many small writes become one event.
const COLLECT: Duration = Duration::from_millis(25);

/// How many bytes of each stream may wait for a slow listener.
const MAX_PENDING: usize = 256 * 1024;

/// How long the listener has for the rest when the command has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Receives output as it appears: called with the stream (`stdout` or `stderr`) and a chunk of its text.
pub type OutputListener<'a> = &'a (dyn Fn(&'static str, String) -> BoxFuture<'a, ()> + Send + Sync);

/// Output that waits to be forwarded.
#[derive(Default)]
pub(crate) struct OutputForwarder {
    pending: Mutex<Pending>,
    more: Notify,
}

/// What has not been forwarded yet.
#[derive(Default)]
struct Pending {
    /// In the order of arrival; neighbours are of different streams.
    chunks: Vec<Chunk>,
    finished: bool,
}

/// Output of one stream, and how many bytes of it were skipped after the text.
struct Chunk {
    stream: &'static str,
    text: String,
    missed: usize,
}

impl OutputForwarder {
    /// Adds output of a stream; if too much of it is pending, only its size.
    pub(crate) fn add(&self, stream: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize =
            pending.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| chunk.text.len()).sum();
        if held + text.len() > MAX_PENDING && held > 0 {
            if let Some(chunk) = pending.chunks.iter_mut().rev().find(|chunk| chunk.stream == stream) {
                chunk.missed += text.len();
            }
            return;
        }
        match pending.chunks.last_mut() {
            Some(last) if last.stream == stream && last.missed == 0 => last.text.push_str(text),
            Some(_) | None => pending.chunks.push(Chunk { stream, text: text.to_owned(), missed: 0 }),
        }
        drop(pending);
        self.more.notify_one();
    }

    /// No more output comes.
    pub(crate) fn finish(&self) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).finished = true;
        self.more.notify_one();
    }

    /// Does the work, and forwards output to the listener meanwhile.
    pub(crate) async fn forward_during<T>(&self, work: impl Future<Output = T>, listener: OutputListener<'_>) -> T {
        let (mut work, mut forwarding) = (pin!(work), pin!(self.forward(listener)));
        tokio::select! {
            biased;
            done = &mut work => {
                let _ = timeout(DRAIN_TIMEOUT, forwarding).await;
                done
            }
            () = &mut forwarding => work.await,
        }
    }

    async fn forward(&self, listener: OutputListener<'_>) {
        loop {
            let (chunks, finished) = {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                (std::mem::take(&mut pending.chunks), pending.finished)
            };
            let quiet = chunks.is_empty();
            for Chunk { stream, text, missed } in chunks {
                let skipped = if missed == 0 { String::new() } else { format!("\n[… {missed} bytes skipped …]\n") };
                listener(stream, text + &skipped).await;
            }
            match (quiet, finished) {
                (true, true) => return,
                (true, false) => self.more.notified().await,
                (false, true) => {}
                (false, false) => sleep(COLLECT).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Recorded = Mutex<Vec<(&'static str, String)>>;

    fn record(recorded: &Recorded, stream: &'static str, text: String) -> BoxFuture<'static, ()> {
        recorded.lock().unwrap().push((stream, text));
        Box::pin(std::future::ready(()))
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_forwarded_in_its_order_and_neighbours_together() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorded::default());
        let work = async {
            for (stream, text) in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")] {
                forwarder.add(stream, text);
            }
            forwarder.finish();
            7
        };
        assert_eq!(forwarder.forward_during(work, &|stream, text| record(&recorded, stream, text)).await, 7);
        let recorded = recorded.into_inner().unwrap();
        assert_eq!(recorded, [("stdout", "ab".to_owned()), ("stderr", "c".to_owned()), ("stdout", "d".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_never_returns_delays_nothing_and_costs_little() {
        let forwarder = OutputForwarder::default();
        let line = "x".repeat(1000);
        let work = async {
            for _ in 0..100_000 {
                forwarder.add("stdout", &line);
                tokio::task::yield_now().await;
            }
            forwarder.finish();
        };
        forwarder.forward_during(work, &|_, _| Box::pin(std::future::pending())).await;
        let held: usize = forwarder.pending.lock().unwrap().chunks.iter().map(|chunk| chunk.text.len()).sum();
        assert!(held <= MAX_PENDING, "{held}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_skipped_is_counted() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorded::default());
        forwarder.add("stdout", &"x".repeat(MAX_PENDING));
        forwarder.add("stdout", "1234567");
        forwarder.finish();
        forwarder.forward_during(std::future::ready(()), &|stream, text| record(&recorded, stream, text)).await;
        assert!(recorded.lock().unwrap()[0].1.ends_with("x\n[… 7 bytes skipped …]\n"));
    }
}
