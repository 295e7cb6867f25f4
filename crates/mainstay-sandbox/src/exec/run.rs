//! Runs a command to its end.

use std::io;
use std::time::Duration;

use mainstay_core::{Error, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

use super::capture::{CapturedText, HeadTail, Utf8Decoder};
use super::forwarder::{OutputForwarder, OutputListener};
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
        listener: Option<&dyn OutputListener>,
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
        let work = run_to_end(&mut child, input, cap, listener);
        tokio::pin!(work);
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
    listener: Option<&dyn OutputListener>,
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
    let mut decoder = Utf8Decoder::default();
    let Some(mut stream) = stream else { return Ok(kept.into_text()) };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        kept.push(&buffer[..read]);
        if let Some(forwarder) = forwarder {
            let text = if read == 0 { std::mem::take(&mut decoder).finish() } else { decoder.push(&buffer[..read]) };
            forwarder.add(name, &text);
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
