//! Runs a command to its end, and forwards its output to a listener while it appears.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::{Error, Principal, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

use super::capture::{CapturedText, HeadTail, decode_chunk};
use super::output_forwarder::{OutputForwarder, OutputListener};
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

/// How long the listener has at least for the rest of the output when the command has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

impl Sandbox {
    /// Runs a command for at most `limit`, then ends it. If the future is dropped, the command is ended too.
    ///
    /// A listener that is slower than the command slows it down, because its output has to wait; nothing is left out as
    /// long as the time limit has not passed. What it has not received when the command ends it gets in the time that is
    /// left.
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
        let cap = self.settings().output_bytes.min(command.output_bytes.unwrap_or(usize::MAX));
        let forwarder = OutputForwarder::default();
        let ended = AtomicBool::new(false);
        let owner = command.principal.clone().unwrap_or_else(Principal::local);
        let kept = || HeadTail::new(cap, owner.clone());
        let mut work = pin!(run_to_end(&mut child, input, [kept(), kept()], listener.map(|_| &forwarder), &ended));
        let mut forwarding = pin!(async {
            match listener {
                Some(listener) => forwarder.forward(listener).await,
                None => std::future::pending().await,
            }
        });
        let left = limit.saturating_sub(begun.elapsed());
        let mut finished = timeout(left, both(work.as_mut(), forwarding.as_mut())).await;
        // A command that has ended by itself did not time out, even if its last output waits for the listener.
        let timed_out = finished.is_err() && !ended.load(Ordering::Relaxed);
        for (signal, wait) in [(Signal::Term, GRACE), (Signal::Kill, KILL_TIMEOUT)] {
            if finished.is_err() {
                // From now on the command must not wait for the listener, or it could not end.
                forwarder.stop_waiting();
                stop.signal(signal);
                finished = timeout(wait, both(work.as_mut(), forwarding.as_mut())).await;
            }
        }
        let duration = begun.elapsed();
        let finished =
            finished.map_err(|_elapsed| Error::internal("the kernel did not end a killed command within 30 s"))?;
        if listener.is_some() {
            let _ = timeout(limit.saturating_sub(duration).max(DRAIN_TIMEOUT), forwarding).await;
        }
        let (status, stdout, stderr) = finished.map_err(Error::internal)?;
        Ok(CommandOutput { status, stdout, stderr, duration, timed_out })
    }
}

/// Does the work while output is forwarded. Forwarding ends only after the work has.
async fn both<T>(mut work: Pin<&mut impl Future<Output = T>>, forwarding: Pin<&mut impl Future<Output = ()>>) -> T {
    tokio::select! {
        biased;
        done = work.as_mut() => done,
        () = forwarding => work.await,
    }
}

/// Reads a command's output and waits for its end, which `ended` tells while the output is still being read.
async fn run_to_end(
    child: &mut Child,
    input: Option<String>,
    [kept_output, kept_errors]: [HeadTail; 2],
    forwarder: Option<&OutputForwarder>,
    ended: &AtomicBool,
) -> io::Result<(ExitStatus, CapturedText, CapturedText)> {
    let (sink, output, errors) = (child.input.take(), child.output.take(), child.errors.take());
    let end = async {
        let status = child.wait().await;
        ended.store(true, Ordering::Relaxed);
        status
    };
    let done = tokio::try_join!(
        end,
        capture(output, "stdout", kept_output, forwarder),
        capture(errors, "stderr", kept_errors, forwarder),
        feed(sink, input),
    );
    if let Some(forwarder) = forwarder {
        forwarder.finish();
    }
    done.map(|(status, stdout, stderr, ())| (status, stdout, stderr))
}

async fn capture(
    stream: Option<pipe::Receiver>,
    name: &'static str,
    mut kept: HeadTail,
    forwarder: Option<&OutputForwarder>,
) -> io::Result<CapturedText> {
    let mut held = Vec::new();
    let Some(mut stream) = stream else { return Ok(kept.into_text()) };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        kept.push(&buffer[..read]);
        if let Some(forwarder) = forwarder {
            forwarder.add(name, &decode_chunk(&mut held, &buffer[..read])).await;
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
