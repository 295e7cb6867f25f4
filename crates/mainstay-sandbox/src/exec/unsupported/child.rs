//! A running command. Dropped, its process group is ended.

use std::io;
use std::sync::Arc;

use tokio::net::unix::pipe;

use super::group::{Running, StopHandle};
use crate::exec::command::TerminalSize;
use crate::exec::exit_status::ExitStatus;

/// A command and the server's ends of its streams.
pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(super) running: Running,
}

impl Child {
    /// Waits until the command has ended and its group has been killed. Cancel-safe: may be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        Ok(self.running.ended().await)
    }

    /// A handle to end the command while another task waits for it.
    pub fn stop_handle(&self) -> io::Result<StopHandle> {
        Ok(self.running.stop_handle())
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
