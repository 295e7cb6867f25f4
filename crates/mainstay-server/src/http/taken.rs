//! A connection whose answers are taken, or which is closed: what nobody reads must not be held for ever.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a reader may take nothing while something is there for it.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Taken<S> {
    stream: S,
    /// Runs while a write waits. A stream that has nothing to say has nobody to wait for.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Taken<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, until: None }
    }

    fn judge(&mut self, written: Poll<Result<usize>>, cx: &mut Context<'_>) -> Poll<Result<usize>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its answers")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Taken<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Taken<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_given_up_on() {
        let (_reader, writer) = tokio::io::duplex(4);
        let refused = Taken::new(writer).write_all(b"more than four").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_is_slow_is_waited_for_and_so_is_a_writer_that_has_nothing_to_say() {
        let (mut reader, writer) = tokio::io::duplex(4);
        let writing = tokio::spawn(async move {
            let mut writer = Taken::new(writer);
            writer.write_all(b"more than four").await?;
            tokio::time::sleep(10 * PATIENCE).await;
            writer.write_all(b".").await
        });
        let mut read = Vec::new();
        while read.len() < 14 {
            tokio::time::sleep(PATIENCE / 2).await;
            read.push(reader.read_u8().await.unwrap());
        }
        assert_eq!(reader.read_u8().await.unwrap(), b'.');
        writing.await.unwrap().unwrap();
    }
}
