//! The server's ends: the line to the process that watches over a command, and the hold on the whole tree.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::plan::{Message, Process};
use super::sys;
use crate::exec::command::TerminalSize;
use crate::exec::private_dir::PrivateDir;

/// When it is closed, by whatever the server comes to, the command ends.
pub(crate) struct Line(AsyncFd<OwnedFd>);

impl Line {
    /// The server's end, and the other.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self(watched(ours, Interest::READABLE)?), theirs))
    }

    /// The next message, and what came with it; `None` when the other end is closed.
    pub(crate) async fn receive(&self) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
        loop {
            let mut ready = self.0.readable().await?;
            let received = ready.try_io(|line| {
                let mut bytes = [0; Message::SIZE];
                let (length, carried) =
                    sys::receive_with(line.as_raw_fd(), &mut bytes).map_err(io::Error::from_raw_os_error)?;
                Ok(Message::from_bytes(&bytes[..length]).zip(Some(own(carried))))
            });
            match received {
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Ok(received) => return received,
                Err(_would_block) => {}
            }
        }
    }

    /// Asks for a signal to be sent to every process of the command.
    pub(crate) fn signal(&self, signal: u8) {
        let _ = sys::send(self.0.as_raw_fd(), &[signal]);
    }
}

/// A handle that the runtime watches.
#[expect(unsafe_code, reason = "the runtime has to be told that the handle stays the same")]
pub(crate) fn watched(handle: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned handle always gives the same number, and keeps it open until it is dropped.
    unsafe { AsyncFd::register_with_interest(handle, interest) }.map_err(Into::into)
}

#[expect(unsafe_code, reason = "a number becomes the handle it is")]
fn own(carried: Option<i32>) -> Option<OwnedFd> {
    // SAFETY: the kernel has just put it into this process's table, and nobody else knows it.
    carried.map(|number| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Tells the programs at a terminal how large it is.
pub(crate) fn resize(terminal: RawFd, size: TerminalSize) -> io::Result<()> {
    sys::set_window(terminal, size.rows, size.columns).map_err(io::Error::from_raw_os_error)
}

/// Ends a command, or passes a signal on to it, while somebody else waits for its end.
pub struct StopHandle {
    line: Arc<Line>,
    handle: Option<OwnedFd>,
}

impl StopHandle {
    pub(crate) fn new(line: Arc<Line>, handle: Option<OwnedFd>) -> Self {
        Self { line, handle }
    }

    pub(crate) fn pass_on(&self, signal: u8) {
        self.line.signal(signal);
    }

    pub(crate) fn kill(&self) {
        match &self.handle {
            Some(handle) => _ = sys::kill_by_handle(handle.as_raw_fd(), libc::SIGKILL),
            // The one at the other end then ends everything, and itself.
            None => _ = rustix::net::shutdown(self.line.0.get_ref(), rustix::net::Shutdown::Both),
        }
    }
}

/// All processes of one command, and the directory they had for themselves. Dropped, they are ended.
pub(crate) struct Tree {
    handle: Option<AsyncFd<OwnedFd>>,
    /// The first process may be killed: the kernel ends the others with it.
    whole: bool,
    tmp: Option<PrivateDir>,
}

impl Tree {
    pub(crate) fn new(process: Process, whole: bool, tmp: Option<PrivateDir>) -> io::Result<Self> {
        Ok(Self { handle: Some(watched(process.handle, Interest::READABLE)?), whole, tmp })
    }

    /// Waits until the last process is gone.
    pub(crate) async fn gone(&mut self) -> io::Result<()> {
        let Some(handle) = &self.handle else { return Ok(()) };
        let _ = handle.readable().await?;
        let _ = sys::reap_by_handle(handle.as_raw_fd(), true);
        self.handle = None;
        if let Some(tmp) = self.tmp.take() {
            let _ = tokio::task::spawn_blocking(move || drop(tmp)).await;
        }
        Ok(())
    }

    /// By which it can be killed, if that ends all of it.
    pub(crate) fn handle(&self) -> io::Result<Option<OwnedFd>> {
        self.handle.as_ref().filter(|_| self.whole).map(|handle| handle.get_ref().try_clone()).transpose()
    }

    pub(crate) fn leaves_files(&self) -> bool {
        self.tmp.is_some()
    }

    pub(crate) async fn into_gone(mut self) {
        let _ = self.gone().await;
    }

    /// Ends them without further notice.
    pub(crate) fn kill(&self) {
        if let Some(handle) = self.handle.as_ref().filter(|_| self.whole) {
            let _ = sys::kill_by_handle(handle.as_raw_fd(), libc::SIGKILL);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
        if let Some(handle) = self.handle.take() {
            wait_elsewhere(handle.into_inner(), self.tmp.take());
        }
    }
}

impl Process {
    /// Ends a command that nobody wants any more; `whole` as for a tree.
    pub(super) fn end(self, whole: bool, tmp: Option<PrivateDir>) {
        if whole {
            let _ = sys::kill_by_handle(self.handle.as_raw_fd(), libc::SIGKILL);
        }
        wait_elsewhere(self.handle, tmp);
    }
}

/// Somebody has to wait for the end; it is a matter of milliseconds, but not for a thread that has other things to do.
fn wait_elsewhere(handle: OwnedFd, tmp: Option<PrivateDir>) {
    let wait = move || {
        let _ = sys::reap_by_handle(handle.as_raw_fd(), false);
        drop(tmp);
    };
    let _ = std::thread::Builder::new().name("mainstay-reap".into()).stack_size(64 * 1024).spawn(wait);
}
