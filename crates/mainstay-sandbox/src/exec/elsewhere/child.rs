//! A running command. Dropped, its process group is ended.

use std::io;
use std::sync::Arc;

use tokio::net::unix::pipe;

use super::group::{Running, Stopper};
use crate::exec::command::Size;
use crate::exec::ending::Ending;

pub struct Child {
    pub input: Option<pipe::Sender>,
    pub output: Option<pipe::Receiver>,
    pub errors: Option<pipe::Receiver>,
    pub terminal: Option<Arc<Terminal>>,
    pub(super) running: Running,
}

impl Child {
    /// Waits until the command has ended and its group has been told to. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<Ending> {
        Ok(self.running.ended().await)
    }

    /// A way to end the command while somebody waits for it.
    pub fn stopper(&self) -> io::Result<Stopper> {
        Ok(self.running.stopper())
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

    pub fn resize(&self, _size: Size) -> io::Result<()> {
        match *self {}
    }
}
