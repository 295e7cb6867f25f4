//! A running command. Dropped, it is ended with everything it has started.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use super::failure::Message;
use super::process::{Channel, ProcessTree, StopHandle, watched};
use crate::exec::command::TerminalSize;
use crate::exec::exit_status::ExitStatus;

/// A command and the server's ends of its streams; with a terminal there are none.
pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(super) channel: Arc<Channel>,
    /// `None` once all processes have ended.
    pub(super) processes: Option<ProcessTree>,
    pub(super) status: Option<ExitStatus>,
}

impl Child {
    /// Waits until the command has ended and nothing of it is left. Cancel-safe: may be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.status.is_none() {
            self.status = self.receive_status().await;
            // Only the supervisor is left, which the caller need not wait for.
            if self.status.is_some()
                && let Some(mut processes) = self.processes.take_if(|processes| !processes.has_files())
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
        StopHandle::new(self.channel.clone(), self.processes.as_ref())
    }
}

/// The server's side of a terminal.
pub struct Terminal(AsyncFd<OwnedFd>);

impl Terminal {
    pub(super) fn new(handle: OwnedFd) -> io::Result<Self> {
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
