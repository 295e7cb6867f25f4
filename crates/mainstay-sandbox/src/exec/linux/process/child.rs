//! A running command: its streams, the channel to its supervisor, and the server's hold on all of its processes. Dropped,
//! it is ended with everything it has started.

use std::ffi::c_int;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};
use rustix::process::{Signal as SystemSignal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use crate::exec::linux::failure::Message;
use crate::exec::private_dir::PrivateDir;
use crate::exec::{ExitStatus, Signal, TerminalSize};

/// A command and the server's ends of its streams; with a terminal there are none.
pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(crate) channel: Arc<Channel>,
    /// `None` once all processes have ended.
    pub(crate) processes: Option<ProcessTree>,
    pub(crate) status: Option<ExitStatus>,
}

impl Child {
    /// Waits until the command has ended and nothing of it is left. Cancel-safe: may be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.status.is_none() {
            self.status = self.receive_status().await;
            // Only the supervisor is left, which the caller need not wait for.
            if self.status.is_some()
                && let Some(mut processes) = self.processes.take_if(|processes| processes.tmp.is_none())
            {
                tokio::spawn(async move { processes.wait().await });
            }
        }
        if let Some(processes) = &mut self.processes {
            processes.wait().await?;
            self.processes = None;
        }
        Ok(self.status.unwrap_or(ExitStatus::killed_by(libc::SIGKILL)))
    }

    /// The status that the supervisor sends; `None` if it was killed itself.
    async fn receive_status(&self) -> Option<ExitStatus> {
        loop {
            match self.channel.receive().await {
                Ok(Some((Message::Ended { status }, _))) => return Some(ExitStatus::from_wait(status)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// A handle to end the command while another task waits for it.
    pub fn stop_handle(&self) -> io::Result<StopHandle> {
        let processes = self.processes.as_ref().filter(|processes| processes.namespace);
        let pidfd = processes.and_then(|processes| processes.pidfd.as_ref());
        let pidfd = pidfd.map(|pidfd| pidfd.get_ref().try_clone()).transpose()?;
        Ok(StopHandle { channel: self.channel.clone(), pidfd })
    }
}

/// The server's side of a terminal.
pub struct Terminal(AsyncFd<OwnedFd>);

impl Terminal {
    pub(crate) fn new(handle: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&handle, true)?;
        watched(handle, Interest::READABLE | Interest::WRITABLE).map(Self)
    }

    /// Reads what programs have written; 0 bytes when no program has the terminal open any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            self.0.async_io(Interest::READABLE, |handle| rustix::io::read(handle, &mut *buffer).map_err(Into::into));
        match read.await {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => Ok(0),
            other => other,
        }
    }

    /// Types something at the terminal; returns how many bytes it has taken.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.async_io(Interest::WRITABLE, |handle| rustix::io::write(handle, bytes).map_err(Into::into)).await
    }

    /// Changes the size; the programs are notified (`SIGWINCH`).
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        rustix::termios::tcsetwinsize(self.0.get_ref(), size.into()).map_err(Into::into)
    }
}

impl From<TerminalSize> for rustix::termios::Winsize {
    fn from(size: TerminalSize) -> Self {
        Self { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// The server's end. When it is closed, for whatever reason, the supervisor ends the command.
pub(crate) struct Channel(AsyncFd<OwnedFd>);

impl Channel {
    /// The server's end, and the supervisor's.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (family, kind) = (net::AddressFamily::UNIX, net::SocketType::SEQPACKET);
        let (ours, theirs) = net::socketpair(family, kind, net::SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self(watched(ours, Interest::READABLE)?), theirs))
    }

    /// The next message and the handle it carries, if any; `None` when the supervisor's end is closed.
    pub(crate) async fn receive(&self) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
        loop {
            let mut ready = self.0.readable().await?;
            match ready.try_io(|channel| receive_now(channel.get_ref())) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Ok(received) => return received,
                Err(_would_block) => {}
            }
        }
    }
}

/// Receives one message; `EAGAIN` if there is none. A handle that comes with it is owned by the caller.
fn receive_now(channel: &OwnedFd) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    let mut bytes = [0; Message::SIZE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = net::recvmsg(channel, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    let handle = control.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut handles) = message { handles.next() } else { None }
    });
    Ok(Message::from_bytes(&bytes[..received.bytes]).map(|message| (message, handle)))
}

/// Registers a handle with the runtime.
#[expect(unsafe_code, reason = "the runtime has to be told that the handle stays the same")]
fn watched(handle: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned handle always has the same number, and keeps it open until it is dropped.
    unsafe { AsyncFd::register_with_interest(handle, interest) }.map_err(Into::into)
}

/// Ends a command, or passes a signal on to it, while another task waits for its end.
pub struct StopHandle {
    channel: Arc<Channel>,
    /// The supervisor, if killing it ends everything.
    pidfd: Option<OwnedFd>,
}

impl StopHandle {
    /// Sends a signal to every process of the command.
    pub fn signal(&self, signal: Signal) {
        let channel = self.channel.0.get_ref();
        let pass_on = |number: c_int| {
            let number = u8::try_from(number).unwrap_or_default();
            net::send(channel, &[number], SendFlags::NOSIGNAL).map(drop)
        };
        let _ = match (signal, &self.pidfd) {
            (Signal::Term, _) => pass_on(libc::SIGTERM),
            (Signal::Int, _) => pass_on(libc::SIGINT),
            (Signal::Hup, _) => pass_on(libc::SIGHUP),
            (Signal::Kill, Some(pidfd)) => pidfd_send_signal(pidfd, SystemSignal::KILL),
            // The channel closes although others still hold it: the supervisor ends the command, and itself.
            (Signal::Kill, None) => net::shutdown(channel, net::Shutdown::Both),
        };
    }
}

/// All processes of one command, and the temporary directory they have for themselves. Dropped, they are ended.
pub(crate) struct ProcessTree {
    /// The supervisor's handle, until it has been reaped.
    pidfd: Option<AsyncFd<OwnedFd>>,
    /// Whether the kernel ends all other processes with the supervisor, so that it may be killed.
    namespace: bool,
    /// Its temporary directory, where it has no `/tmp` of its own.
    tmp: Option<PrivateDir>,
}

impl ProcessTree {
    /// `namespace` says whether killing the supervisor is enough to end everything.
    pub(crate) fn new(pidfd: OwnedFd, namespace: bool, tmp: Option<PrivateDir>) -> io::Result<Self> {
        Ok(Self { pidfd: Some(watched(pidfd, Interest::READABLE)?), namespace, tmp })
    }

    /// Waits until the last process has ended, and removes the temporary directory.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        let Some(pidfd) = &self.pidfd else { return Ok(()) };
        let _ = pidfd.readable().await?;
        let _ = waitid(WaitId::PidFd(pidfd.get_ref().as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        self.pidfd = None;
        if let Some(tmp) = self.tmp.take() {
            let _ = tokio::task::spawn_blocking(move || drop(tmp)).await;
        }
        Ok(())
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if let Some(pidfd) = self.pidfd.take() {
            abandon(pidfd.into_inner(), self.namespace, self.tmp.take());
        }
    }
}

/// Ends a command that nobody wants any more: without a namespace, its closed channel tells the supervisor to. Reaping
/// it takes milliseconds, but the calling thread may be one of the runtime's, so another one waits.
pub(super) fn abandon(pidfd: OwnedFd, namespace: bool, tmp: Option<PrivateDir>) {
    if namespace {
        let _ = pidfd_send_signal(&pidfd, SystemSignal::KILL);
    }
    let reap = move || {
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED));
        drop(tmp);
    };
    let _ = std::thread::Builder::new().name("mainstay-reap".into()).stack_size(64 * 1024).spawn(reap);
}
