//! One command that keeps running between calls.
//!
//! A task reads the program's output into a buffer from its start to its end, whether or not a caller reads it: a
//! program whose output nobody reads would block. The session has ended once that task has, for whatever reason.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Error, Kind, Principal, PrincipalPermit, Result};
use mainstay_sandbox::exec::{
    Child, ExitStatus, SessionSettings, Signal, StopHandle, Terminal, TerminalSize, complete_utf8_prefix,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// How long a write waits for a program that does not read its input.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How a session ends whose task was stopped before the program ended.
const KILLED: ExitStatus = ExitStatus { code: 137, signal: Some(9) };

/// Shared by the registry, the calls that use it and the task that supervises it.
pub(crate) struct Session {
    pub(crate) info: SessionInfo,
    stop_handle: StopHandle,
    terminal: Option<Arc<Terminal>>,
    /// The program's input, if it has a pipe and no terminal; `None` once it is closed.
    input: tokio::sync::Mutex<Option<pipe::Sender>>,
    state: Mutex<State>,
    /// Notified whenever there is new output, and at the end.
    changed: watch::Sender<()>,
    task: Mutex<Option<AbortHandle>>,
    /// For as long as the session is known: it holds handles beyond its end.
    _descriptors: PrincipalPermit,
}

/// What is known of a session from its start.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct SessionInfo {
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) owner: Principal,
    // Its arguments may contain secrets and are not kept.
    pub(crate) program: String,
    /// Milliseconds since 1970.
    pub(crate) started_ms: i64,
    // How long it may run at all.
    #[serde(skip)]
    pub(crate) lifetime: Option<Duration>,
}

struct State {
    output: OutputBuffer,
    ended: Option<ExitStatus>,
    last_used: Instant,
}

/// Whether a session still runs, and how it ended.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ExitState {
    pub(crate) running: bool,
    /// Exit code, or 128 plus the signal's number.
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl From<Option<ExitStatus>> for ExitState {
    fn from(ended: Option<ExitStatus>) -> Self {
        Self {
            running: ended.is_none(),
            exit_code: ended.map(|status| status.code),
            signal: ended.and_then(|status| status.signal),
        }
    }
}

impl Session {
    /// Takes over a child that was just started.
    pub(crate) fn start(
        mut child: Child,
        info: SessionInfo,
        settings: &SessionSettings,
        descriptors: PrincipalPermit,
    ) -> Result<Arc<Self>> {
        let output = OutputBuffer::new(settings.buffer_bytes);
        let idle = Duration::from_secs(settings.idle_minutes.saturating_mul(60));
        let session = Arc::new(Self {
            info,
            stop_handle: child.stop_handle().map_err(Error::internal)?,
            terminal: child.terminal.clone(),
            input: tokio::sync::Mutex::new(child.input.take()),
            state: Mutex::new(State { output, ended: None, last_used: Instant::now() }),
            changed: watch::channel(()).0,
            task: Mutex::new(None),
            _descriptors: descriptors,
        });
        let task = tokio::spawn(supervise(EndOnDrop(session.clone()), child, idle)).abort_handle();
        *session.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts as using the session, which puts off its end.
    pub(crate) fn touch(&self) {
        self.state().last_used = Instant::now();
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.state().last_used
    }

    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.state().ended
    }

    /// How many bytes the program has written so far.
    pub(crate) fn output_bytes(&self) -> u64 {
        self.state().output.end()
    }

    fn set_ended(&self, status: ExitStatus) {
        self.state().ended.get_or_insert(status);
        self.changed.send_replace(());
    }

    fn add_output(&self, bytes: &[u8]) {
        self.state().output.push(bytes);
        self.changed.send_replace(());
    }

    /// The output from a position on; waits for some if there is none yet. An incomplete UTF-8 character at the end is
    /// left for the next read, unless the program has ended.
    pub(crate) async fn read(&self, from: u64, most: usize, wait: Duration) -> (OutputPart, Option<ExitStatus>) {
        let mut changed = self.changed.subscribe();
        let deadline = Instant::now() + wait;
        loop {
            // Before the state is read, so that output which comes right after it is not missed.
            changed.mark_unchanged();
            let (part, ended) = {
                let state = self.state();
                let part = state.output.read(from, most);
                let is_last = state.ended.is_some() && part.next == state.output.end();
                (if is_last { part } else { part.without_partial_character() }, state.ended)
            };
            let has_news = !part.bytes.is_empty() || part.dropped > 0 || ended.is_some();
            if has_news || timeout_at(deadline, changed.changed()).await.is_err() {
                return (part, ended);
            }
        }
    }

    /// Writes to the program's input. Returns how many bytes it took before the timeout.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<usize> {
        if self.ended().is_some() {
            return Err(Error::new(Kind::Conflict, "The session has ended and takes no more input."));
        }
        let deadline = Instant::now() + WRITE_TIMEOUT;
        // Locked for a terminal, too: two writes at the same time must not mix.
        let mut input = self.input.lock().await;
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            let wrote = match (&self.terminal, input.as_mut()) {
                (Some(terminal), _) => timeout_at(deadline, terminal.write(rest)).await,
                (None, Some(pipe)) => timeout_at(deadline, pipe.write(rest)).await,
                (None, None) => return Err(Error::new(Kind::Conflict, "The input of the session was closed.")),
            };
            match wrote {
                Ok(Ok(wrote)) => written += wrote,
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                    return Err(Error::new(Kind::Conflict, "The program has closed its input."));
                }
                Ok(Err(error)) => return Err(Error::internal(error)),
                Err(_elapsed) => break,
            }
        }
        Ok(written)
    }

    /// Ends the input: a terminal gets the key Ctrl-D, a pipe is closed.
    pub(crate) async fn close_input(&self) -> Result<()> {
        const CTRL_D: &[u8] = b"\x04";
        if self.terminal.is_some() {
            return self.write(CTRL_D).await.map(drop);
        }
        self.input.lock().await.take();
        Ok(())
    }

    pub(crate) fn resize(&self, size: TerminalSize) -> Result<()> {
        let Some(terminal) = &self.terminal else {
            return Err(Error::field("id", "The session has no terminal; it was started with terminal: false."));
        };
        terminal.resize(size).map_err(Error::internal)
    }

    /// Sends a signal to all processes and waits a little for the session to end.
    pub(crate) async fn signal(&self, signal: Signal, wait: Duration) -> Option<ExitStatus> {
        let mut changed = self.changed.subscribe();
        self.stop_handle.signal(signal);
        // Not ending in time is a result, not an error.
        let _ = timeout(wait, async { while self.ended().is_none() && changed.changed().await.is_ok() {} }).await;
        self.ended()
    }

    /// Stops the session's task, which kills the program.
    pub(crate) fn abort(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// Kills the program and marks the session as ended if its task stops early: aborted, panicked, or with the runtime.
struct EndOnDrop(Arc<Session>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if self.0.ended().is_none() {
            self.0.stop_handle.signal(Signal::Kill);
            self.0.set_ended(KILLED);
        }
    }
}

/// Reads the program's output until it ends; kills it when it exceeds a time limit.
async fn supervise(session: EndOnDrop, mut child: Child, idle: Duration) {
    let session = &*session.0;
    let terminal = child.terminal.clone();
    let (output, errors) = (child.output.take(), child.errors.take());
    let run = async {
        // Output may still come after the program has ended: its children hold the pipe. All of it is read.
        tokio::join!(
            read_terminal(session, terminal),
            read_pipe(session, output),
            read_pipe(session, errors),
            child.wait(),
        )
        .3
    };
    // Ends nothing itself: what is killed ends the run.
    let enforce_limits = async {
        time_limit(session, idle).await;
        session.stop_handle.signal(Signal::Kill);
        std::future::pending().await
    };
    let status = tokio::select! { status = run => status, never = enforce_limits => never };
    session.set_ended(status.unwrap_or(KILLED));
}

async fn read_terminal(session: &Session, terminal: Option<Arc<Terminal>>) {
    let Some(terminal) = terminal else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = terminal.read(&mut buffer).await {
        session.add_output(&buffer[..read]);
    }
}

async fn read_pipe(session: &Session, pipe: Option<pipe::Receiver>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        session.add_output(&buffer[..read]);
    }
}

/// Waits until the session has been idle for too long or its lifetime is over. A limit too far away for the clock never
/// comes.
async fn time_limit(session: &Session, idle: Duration) {
    let end = session.info.lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime));
    // Using the session moves the deadline, so it is computed again after every sleep.
    loop {
        let unused = session.last_used().checked_add(idle);
        let Some(next) = end.into_iter().chain(unused).min() else { return std::future::pending().await };
        if next <= Instant::now() {
            return;
        }
        sleep_until(next).await;
    }
}

/// The last bytes of a session's output, addressed by their position since its beginning.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// How many bytes came before those that are kept.
    before: u64,
}

/// A part of the output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPart {
    pub(crate) bytes: Vec<u8>,
    /// How many of the requested bytes are not kept any more.
    pub(crate) dropped: u64,
    /// The position to continue from.
    pub(crate) next: u64,
}

impl OutputPart {
    /// Leaves out the beginning of a UTF-8 character at the end, whose other bytes may still come.
    pub(crate) fn without_partial_character(mut self) -> Self {
        let whole = complete_utf8_prefix(&self.bytes).len();
        self.next -= (self.bytes.len() - whole) as u64;
        self.bytes.truncate(whole);
        self
    }
}

impl OutputBuffer {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: VecDeque::new(), capacity, before: 0 }
    }

    /// Appends bytes; the oldest are dropped if there are too many.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.capacity);
        self.bytes.drain(..surplus);
        self.before += surplus as u64;
    }

    /// The position after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.before + self.bytes.len() as u64
    }

    /// At most `most` bytes from a position on; nothing if the position has not been reached.
    pub(crate) fn read(&self, from: u64, most: usize) -> OutputPart {
        let dropped = self.before.saturating_sub(from);
        let start = from.max(self.before);
        let skipped = usize::try_from(start - self.before).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes: Vec<u8> = self.bytes.range(skipped..).take(most).copied().collect();
        OutputPart { next: start + bytes.len() as u64, bytes, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_output_is_counted_and_reading_continues_after_it() {
        let mut buffer = OutputBuffer::new(4);
        buffer.push(b"abc");
        assert_eq!(buffer.read(1, 10), OutputPart { bytes: b"bc".to_vec(), dropped: 0, next: 3 });
        buffer.push(b"defg");
        assert_eq!(buffer.read(1, 2), OutputPart { bytes: b"de".to_vec(), dropped: 2, next: 5 });
        assert_eq!(buffer.read(7, 2), OutputPart { bytes: Vec::new(), dropped: 0, next: 7 });
        assert_eq!(buffer.end(), 7);
    }

    #[test]
    fn a_part_ends_with_a_whole_character() {
        let part = OutputPart { bytes: b"a\xe2\x82".to_vec(), dropped: 3, next: 9 };
        assert_eq!(part.without_partial_character(), OutputPart { bytes: b"a".to_vec(), dropped: 3, next: 7 });
        let lone = OutputPart { bytes: b"\xc3".to_vec(), dropped: 0, next: 1 };
        assert_eq!(lone.without_partial_character(), OutputPart { bytes: Vec::new(), dropped: 0, next: 0 });
    }

    #[test]
    fn a_write_larger_than_the_buffer_keeps_its_end() {
        let mut buffer = OutputBuffer::new(2);
        buffer.push(b"abcdef");
        assert_eq!(buffer.read(0, 10), OutputPart { bytes: b"ef".to_vec(), dropped: 4, next: 6 });
    }
}
