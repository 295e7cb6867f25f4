//! One command that runs on between calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Error, Principal, Result};
use mainstay_sandbox::exec::{Child, ExitStatus, Signal, StopHandle, Terminal, TerminalSize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::ring::{Part, Ring};

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) owner: Principal,
    /// The program's name. Its arguments may hold secrets and are not kept.
    pub(crate) program: String,
    pub(crate) started_ms: i64,
    stopper: StopHandle,
    terminal: Option<Arc<Terminal>>,
    input: tokio::sync::Mutex<Option<pipe::Sender>>,
    state: Mutex<State>,
    /// Changes whenever there is something new.
    news: watch::Sender<()>,
    task: Mutex<Option<AbortHandle>>,
}

struct State {
    ring: Ring,
    ended: Option<ExitStatus>,
    used: Instant,
}

/// How long a session may be left alone, and how long it may last.
pub(crate) struct Span {
    pub(crate) idle: Duration,
    pub(crate) lifetime: Option<Duration>,
}

/// How long a write waits for a program that does not read.
const PATIENCE: Duration = Duration::from_secs(5);

impl Session {
    pub(crate) fn begin(
        mut child: Child,
        (id, owner, program, started_ms): (String, Principal, String, i64),
        buffer: usize,
        span: Span,
    ) -> Result<Arc<Self>> {
        let session = Arc::new(Self {
            id,
            owner,
            program,
            started_ms,
            stopper: child.stop_handle().map_err(Error::internal)?,
            terminal: child.terminal.clone(),
            input: tokio::sync::Mutex::new(child.input.take()),
            state: Mutex::new(State { ring: Ring::new(buffer), ended: None, used: Instant::now() }),
            news: watch::channel(()).0,
            task: Mutex::new(None),
        });
        let task = tokio::spawn(accompany(Company(session.clone()), child, span)).abort_handle();
        *session.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn touch(&self) {
        self.state().used = Instant::now();
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.state().used
    }

    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.state().ended
    }

    /// How many bytes there have been.
    pub(crate) fn written(&self) -> u64 {
        self.state().ring.end()
    }

    fn has_ended(&self, ending: ExitStatus) {
        self.state().ended.get_or_insert(ending);
        self.news.send_replace(());
    }

    fn heard(&self, bytes: &[u8]) {
        self.state().ring.push(bytes);
        self.news.send_replace(());
    }

    /// What there is from a place on; waits for something if there is nothing yet. Of a character that has not wholly come
    /// nothing is there, unless nothing more will come.
    pub(crate) async fn read(&self, from: u64, most: usize, wait: Duration) -> (Part, Option<ExitStatus>) {
        let mut news = self.news.subscribe();
        let deadline = Instant::now() + wait;
        loop {
            news.mark_unchanged();
            let (part, ended) = {
                let state = self.state();
                let part = state.ring.read(from, most);
                let last = state.ended.is_some() && part.next == state.ring.end();
                (if last { part } else { part.whole() }, state.ended)
            };
            let something = !part.bytes.is_empty() || part.dropped > 0 || ended.is_some();
            if something || timeout_at(deadline, news.changed()).await.is_err() {
                return (part, ended);
            }
        }
    }

    /// Says how many bytes the program's input took.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<usize> {
        if self.ended().is_some() {
            return Err(Error::new(
                mainstay_core::Kind::Conflict,
                "The session has ended; nobody reads its input any more.",
            ));
        }
        let deadline = Instant::now() + PATIENCE;
        let mut written = 0;
        if let Some(terminal) = &self.terminal {
            while written < bytes.len() {
                match timeout_at(deadline, terminal.write(&bytes[written..])).await {
                    Ok(wrote) => written += wrote.map_err(Error::internal)?,
                    Err(_elapsed) => break,
                }
            }
            return Ok(written);
        }
        let mut input = self.input.lock().await;
        let Some(pipe) = input.as_mut() else {
            return Err(Error::new(mainstay_core::Kind::Conflict, "The session's input has been closed."));
        };
        while written < bytes.len() {
            match timeout_at(deadline, pipe.write(&bytes[written..])).await {
                Ok(Ok(wrote)) => written += wrote,
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                    return Err(Error::new(mainstay_core::Kind::Conflict, "The program has closed its input."));
                }
                Ok(Err(error)) => return Err(Error::internal(error)),
                Err(_elapsed) => break,
            }
        }
        Ok(written)
    }

    /// The end of the input: a terminal is told so by a key, a pipe is closed.
    pub(crate) async fn close_input(&self) -> Result<()> {
        const END_OF_INPUT: &[u8] = b"\x04";
        if self.terminal.is_some() {
            return self.write(END_OF_INPUT).await.map(drop);
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

    /// Sends a signal and waits a little for what comes of it.
    pub(crate) async fn signal(&self, signal: Signal, wait: Duration) -> Option<ExitStatus> {
        let mut news = self.news.subscribe();
        self.stopper.signal(signal);
        let _ = timeout(wait, async { while self.ended().is_none() && news.changed().await.is_ok() {} }).await;
        self.ended()
    }

    /// Ends it and forgets it.
    pub(crate) fn abandon(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

const KILLED: ExitStatus = ExitStatus { code: 137, signal: Some(9) };

/// Whatever becomes of the task that accompanies a session: without it the session has ended.
struct Company(Arc<Session>);

impl Drop for Company {
    fn drop(&mut self) {
        if self.0.ended().is_none() {
            self.0.stopper.signal(Signal::Kill);
            self.0.has_ended(KILLED);
        }
    }
}

/// Reads what the program writes until it has ended, or its time is up.
async fn accompany(company: Company, mut child: Child, span: Span) {
    let session = &*company.0;
    let terminal = child.terminal.clone();
    let (output, errors) = (child.output.take(), child.errors.take());
    let ending = {
        let listen = async {
            tokio::join!(
                hear_terminal(session, terminal),
                hear_pipe(session, output),
                hear_pipe(session, errors),
                child.wait(),
            )
            .3
        };
        tokio::pin!(listen);
        tokio::select! {
            ending = &mut listen => ending,
            () = time_is_up(session, &span) => {
                session.stopper.signal(Signal::Kill);
                listen.await
            }
        }
    };
    session.has_ended(ending.unwrap_or(KILLED));
}

async fn hear_terminal(session: &Session, terminal: Option<Arc<Terminal>>) {
    let Some(terminal) = terminal else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = terminal.read(&mut buffer).await {
        session.heard(&buffer[..read]);
    }
}

async fn hear_pipe(session: &Session, pipe: Option<pipe::Receiver>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        session.heard(&buffer[..read]);
    }
}

/// A time so far away that no clock shows it never comes.
async fn time_is_up(session: &Session, span: &Span) {
    let end = span.lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime));
    loop {
        let idle = session.last_used().checked_add(span.idle);
        let Some(next) = end.into_iter().chain(idle).min() else { return std::future::pending().await };
        if next <= Instant::now() {
            return;
        }
        sleep_until(next).await;
    }
}
