//! A running command. Dropped, its process group is ended.

use std::io;
use std::sync::Arc;

use tokio::net::unix::pipe;

use super::group::{Running, StopHandle};
use crate::exec::command::TerminalSize;
use crate::exec::ending::ExitStatus;

pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(super) running: Running,
}

impl Child {
    /// Waits until the command has ended and its group has been told to. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        Ok(self.running.ended().await)
    }

    /// A way to end the command while somebody waits for it.
    pub fn stop_handle(&self) -> io::Result<StopHandle> {
        Ok(self.running.stop_handle())
    }
}

/// There are no terminals here: a command that asks for one is refused before it is started.
pub enum Terminal {}

#[expect(clippy::unused_async, reason = "real terminals take their time")]
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
