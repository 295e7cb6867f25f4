//! A running command: its streams, and its processes as far as they stay in its process group. Dropped, the group is
//! ended.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Error, Result};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal as Number, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use crate::exec::command::Pipes;
use crate::exec::private_dir::PrivateDir;
use crate::exec::{ExitStatus, Signal, TerminalSize};

/// Receives the exit status when there is one.
type Ended = watch::Receiver<Option<ExitStatus>>;

/// More than a pipe holds: what was written before the end is passed on, an endless stream is not.
const MAX_AFTER_EXIT: usize = 1024 * 1024;

/// A command and the server's ends of its streams.
pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    running: Running,
}

impl Child {
    /// Starts a command on a thread that waits for its end.
    pub(super) async fn start(
        Pipes { input, output, errors }: Pipes,
        spawn: impl FnOnce() -> Result<(process::Child, PrivateDir)> + Send + 'static,
    ) -> Result<Self> {
        let (reply, answer) = oneshot::channel();
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(move || run_on_thread(spawn, reply))
            .map_err(|error| Error::unavailable(format!("No thread could be started to run a command: {error}.")))?;
        let running = answer.await.map_err(|_| Error::internal("the thread that starts a command has ended"))??;
        let until_exit = |stream| relay(stream, running.ended.clone());
        let output = output.map(until_exit).transpose().map_err(Error::internal)?;
        let errors = errors.map(until_exit).transpose().map_err(Error::internal)?;
        Ok(Self { input, output, errors, terminal: None, running })
    }

    /// Waits until the command has ended and its group has been killed. Cancel-safe: may be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let ended = self.running.ended.wait_for(Option::is_some).await;
        Ok(ended.ok().and_then(|status| *status).unwrap_or(ExitStatus::killed_by(libc::SIGKILL)))
    }

    /// A handle to end the command while another task waits for it.
    pub fn stop_handle(&self) -> io::Result<StopHandle> {
        Ok(StopHandle(self.running.group.clone()))
    }
}

/// Does not exist: a command with a terminal is refused before it is started.
pub enum Terminal {}

#[expect(clippy::unused_async, reason = "the terminals of Linux have to wait")]
impl Terminal {
    pub async fn read(&self, _buffer: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub async fn write(&self, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub fn resize(&self, _size: TerminalSize) -> io::Result<()> {
        match *self {}
    }
}

/// Ends a command, or passes a signal on to it, while another task waits for its end.
pub struct StopHandle(Arc<Group>);

impl StopHandle {
    /// Sends a signal to every process of the group.
    pub fn signal(&self, signal: Signal) {
        self.0.signal(match signal {
            Signal::Term => Number::TERM,
            Signal::Int => Number::INT,
            Signal::Hup => Number::HUP,
            Signal::Kill => Number::KILL,
        });
    }
}

/// The group's number; `None` once its leader has been reaped, because the number may then mean another group.
struct Group(Mutex<Option<Pid>>);

impl Group {
    /// Signals the whole group, unless its number may belong to another by now.
    fn signal(&self, signal: Number) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Waits for the leader and kills the others. The leader keeps the group's number reserved until it is reaped.
    fn wait_and_kill(&self, mut leader: process::Child) -> ExitStatus {
        let id = Pid::from_child(&leader);
        let _ = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        self.signal(Number::KILL);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        leader.wait().map_or(ExitStatus::killed_by(libc::SIGKILL), |status| ExitStatus::from_wait(status.into_raw()))
    }
}

/// A command that has been started. Dropped, it is ended.
struct Running {
    group: Arc<Group>,
    ended: Ended,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.group.signal(Number::KILL);
    }
}

/// Starts the command and waits for it; its temporary directory is removed before the status is reported.
fn run_on_thread(
    spawn: impl FnOnce() -> Result<(process::Child, PrivateDir)>,
    reply: oneshot::Sender<Result<Running>>,
) {
    if reply.is_closed() {
        return;
    }
    let (first, tmp) = match spawn() {
        Ok(started) => started,
        Err(error) => return drop(reply.send(Err(error))),
    };
    let group = Arc::new(Group(Mutex::new(Some(Pid::from_child(&first)))));
    let (report, ended) = watch::channel(None);
    // If the caller has gone, this drops the command, which ends it.
    drop(reply.send(Ok(Running { group: group.clone(), ended })));
    let status = group.wait_and_kill(first);
    drop(tmp);
    report.send_replace(Some(status));
}

/// A copy of the stream that ends with the command. A process that has left the group may keep its end of a pipe open
/// for as long as it likes, and no caller should wait for that.
fn relay(from: pipe::Receiver, ended: Ended) -> io::Result<pipe::Receiver> {
    let (ours, theirs) = io::pipe()?;
    let to = pipe::Sender::from_owned_fd(theirs.into())?;
    tokio::spawn(pass_on(from, to, ended));
    pipe::Receiver::from_owned_fd(ours.into())
}

/// Ends with an error when nobody reads any more, which is ignored.
async fn pass_on(mut from: pipe::Receiver, mut to: pipe::Sender, mut ended: Ended) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            () = has_ended(&mut ended) => break,
        };
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
    let mut passed = 0;
    while passed < MAX_AFTER_EXIT {
        // A direct read: the runtime may not know yet that there is something.
        match rustix::io::read(from.as_fd(), &mut buffer[..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                to.write_all(&buffer[..read]).await?;
                passed += read;
            }
        }
    }
    Ok(())
}

async fn has_ended(ended: &mut Ended) {
    let _ = ended.wait_for(Option::is_some).await;
}
