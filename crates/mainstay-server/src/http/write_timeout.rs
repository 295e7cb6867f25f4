//! Closes connections whose client does not read its responses. Without this, a client that stops reading would hold
//! its connection, its call and the buffered response for ever.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a write may wait for the client to read.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// A stream with a write timeout.
pub(super) struct WriteTimeout<S> {
    stream: S,
    /// Runs while a write is pending. An idle stream has no timeout.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, deadline: None }
    }

    fn check(&mut self, written: Poll<Result<usize>>, cx: &mut Context<'_>) -> Poll<Result<usize>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIMEOUT)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its responses")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.check(written, cx)
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
    async fn a_client_that_does_not_read_times_out() {
        let (_reader, writer) = tokio::io::duplex(4);
        let refused = WriteTimeout::new(writer).write_all(b"more than four").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reads_and_idle_writes_do_not_time_out() {
        let (mut reader, writer) = tokio::io::duplex(4);
        let writing = tokio::spawn(async move {
            let mut writer = WriteTimeout::new(writer);
            writer.write_all(b"more than four").await?;
            tokio::time::sleep(10 * WRITE_TIMEOUT).await;
            writer.write_all(b".").await
        });
        let mut read = Vec::new();
        while read.len() < 14 {
            tokio::time::sleep(WRITE_TIMEOUT / 2).await;
            read.push(reader.read_u8().await.unwrap());
        }
        assert_eq!(reader.read_u8().await.unwrap(), b'.');
        writing.await.unwrap().unwrap();
    }
}
