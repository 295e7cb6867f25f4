//! Running a command to its end.

use std::io;
use std::time::Duration;

use mainstay_core::{BoxFuture, Error, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

use super::child::Child;
use super::command::Command;
use super::ending::{ExitStatus, Signal};
use super::output::{HeadTail, Text, Utf8Decoder};
use super::sandbox::Sandbox;
use super::telling::Telling;

/// Somebody who wants to hear of output as it appears.
pub trait OutputListener: Send + Sync {
    fn on_output(&self, stream: &'static str, text: String) -> BoxFuture<'_, ()>;
}

/// A command that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: ExitStatus,
    pub stdout: Text,
    pub stderr: Text,
    pub duration: Duration,
    pub timed_out: bool,
}

impl CommandOutput {
    /// The time was up while the command was still being started, and it was given up.
    fn before_it_began(duration: Duration) -> Self {
        let nothing = || HeadTail::new(0).into_text();
        Self { status: ExitStatus::by(libc::SIGKILL), stdout: nothing(), stderr: nothing(), duration, timed_out: true }
    }
}

/// How long a command has between being asked to end and being ended.
const GRACE: Duration = Duration::from_millis(500);
/// How long the kernel may take to end what it has been told to.
const PATIENCE: Duration = Duration::from_secs(30);
impl Sandbox {
    /// Runs a command, at the longest for `limit`. Dropped on the way, the command is ended.
    pub async fn run(
        &self,
        command: &Command,
        input: Option<String>,
        limit: Duration,
        listener: Option<&dyn OutputListener>,
    ) -> Result<CommandOutput> {
        let begun = Instant::now();
        let Ok(started) = timeout(limit, self.start(command)).await else {
            return Ok(CommandOutput::before_it_began(begun.elapsed()));
        };
        let mut child = started?;
        let stopper = child.stop_handle().map_err(Error::internal)?;
        let cap = self.settings().output_bytes;
        let work = to_the_end(&mut child, input, cap, listener);
        tokio::pin!(work);
        let (finished, timed_out) = match timeout(limit.saturating_sub(begun.elapsed()), &mut work).await {
            Ok(finished) => (finished, false),
            Err(_elapsed) => {
                stopper.signal(Signal::Term);
                let finished = match timeout(GRACE, &mut work).await {
                    Ok(finished) => finished,
                    Err(_elapsed) => {
                        stopper.signal(Signal::Kill);
                        timeout(PATIENCE, &mut work).await.map_err(|_| {
                            Error::internal("the kernel did not end a command within 30 s of being told to")
                        })?
                    }
                };
                (finished, true)
            }
        };
        let (status, stdout, stderr) = finished.map_err(Error::internal)?;
        Ok(CommandOutput { status, stdout, stderr, duration: begun.elapsed(), timed_out })
    }
}

async fn to_the_end(
    child: &mut Child,
    input: Option<String>,
    cap: usize,
    listener: Option<&dyn OutputListener>,
) -> io::Result<(ExitStatus, Text, Text)> {
    let (sink, output, errors) = (child.input.take(), child.output.take(), child.errors.take());
    let telling = Telling::default();
    let heard = listener.map(|_| &telling);
    let work = async {
        let done = tokio::try_join!(
            child.wait(),
            gather(output, "stdout", cap, heard),
            gather(errors, "stderr", cap, heard),
            feed(sink, input),
        );
        telling.finish();
        done.map(|(status, stdout, stderr, ())| (status, stdout, stderr))
    };
    match listener {
        None => work.await,
        Some(listener) => telling.beside(work, listener).await,
    }
}

async fn gather(
    stream: Option<pipe::Receiver>,
    name: &'static str,
    cap: usize,
    telling: Option<&Telling>,
) -> io::Result<Text> {
    let mut kept = HeadTail::new(cap);
    let mut pieces = Utf8Decoder::default();
    let Some(mut stream) = stream else { return Ok(kept.into_text()) };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        kept.push(&buffer[..read]);
        if let Some(telling) = telling {
            let text = if read == 0 { std::mem::take(&mut pieces).finish() } else { pieces.push(&buffer[..read]) };
            telling.add(name, &text);
        }
        if read == 0 {
            return Ok(kept.into_text());
        }
    }
}

/// A command need not read what it is given.
async fn feed(sink: Option<pipe::Sender>, input: Option<String>) -> io::Result<()> {
    let (Some(mut sink), Some(input)) = (sink, input) else { return Ok(()) };
    match sink.write_all(input.as_bytes()).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
