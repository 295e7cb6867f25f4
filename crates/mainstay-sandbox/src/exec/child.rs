//! A running command. Dropped, it is ended with everything it started.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use super::command::TerminalSize;
use super::ending::{ExitStatus, Signal};
use super::linux::{Line, Message, StopHandle, Tree, resize, watched};

pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(crate) line: Arc<Line>,
    pub(crate) tree: Option<Tree>,
    pub(crate) ended: Option<ExitStatus>,
}

impl Child {
    /// Waits until the command has ended and nothing of it is left. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.hear_of_the_end().await;
            // What is left is the one who said so, which need not be waited for.
            if self.ended.is_some()
                && let Some(tree) = self.tree.take_if(|tree| !tree.leaves_files())
            {
                tokio::spawn(tree.into_gone());
            }
        }
        if let Some(tree) = &mut self.tree {
            tree.gone().await?;
            self.tree = None;
        }
        Ok(self.ended.unwrap_or(ExitStatus::by(libc::SIGKILL)))
    }

    /// Nothing if the one who would have said so was ended itself.
    async fn hear_of_the_end(&self) -> Option<ExitStatus> {
        loop {
            match self.line.receive().await {
                Ok(Some((Message::Ended { status }, _))) => return Some(ExitStatus::of(status)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// A way to end the command while somebody waits for it.
    pub fn stop_handle(&self) -> io::Result<StopHandle> {
        let handle = self.tree.as_ref().map(Tree::handle).transpose()?.flatten();
        Ok(StopHandle::new(self.line.clone(), handle))
    }
}

impl StopHandle {
    pub fn signal(&self, signal: Signal) {
        let number: libc::c_int = match signal {
            Signal::Term => libc::SIGTERM,
            Signal::Int => libc::SIGINT,
            Signal::Hup => libc::SIGHUP,
            Signal::Kill => return self.kill(),
        };
        self.pass_on(u8::try_from(number).unwrap_or_default());
    }
}

/// The server's side of a terminal.
pub struct Terminal(AsyncFd<OwnedFd>);

impl Terminal {
    pub(crate) fn new(handle: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&handle, true)?;
        watched(handle, Interest::READABLE | Interest::WRITABLE).map(Self)
    }

    /// Nothing read means that nobody is at the other side any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            self.0.async_io(Interest::READABLE, |handle| rustix::io::read(handle, &mut *buffer).map_err(Into::into));
        match read.await {
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            other => other,
        }
    }

    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.async_io(Interest::WRITABLE, |handle| rustix::io::write(handle, bytes).map_err(Into::into)).await
    }

    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        resize(self.0.get_ref().as_raw_fd(), size)
    }
}
