//! Forwards output to a listener while it appears.
//!
//! The command never waits for the listener: one that is too slow misses some of the output, is told how many bytes, and
//! finds all that was kept in the result.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use mainstay_core::BoxFuture;

/// How long output is collected before it is forwarded, so that many small writes become one event.
const COLLECT: Duration = Duration::from_millis(25);

/// How many bytes of each stream may wait for a slow listener.
const MAX_PENDING: usize = 256 * 1024;

/// How long the listener has for the rest when the command has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Receives output as it appears.
pub trait OutputListener: Send + Sync {
    /// Called with the stream (`stdout` or `stderr`) and a chunk of its text.
    fn on_output(&self, stream: &'static str, text: String) -> BoxFuture<'_, ()>;
}

/// Output that waits to be forwarded.
#[derive(Default)]
pub(crate) struct OutputForwarder {
    pending: Mutex<Pending>,
    more: Notify,
}

/// What has not been forwarded yet.
#[derive(Default)]
struct Pending {
    /// In the order of arrival; neighbours are of different streams.
    chunks: Vec<Chunk>,
    finished: bool,
}

/// Output of one stream, and how many bytes of it were skipped after the text.
struct Chunk {
    stream: &'static str,
    text: String,
    missed: usize,
}

impl OutputForwarder {
    /// Adds output of a stream; if too much of it is pending, only its size.
    pub(crate) fn add(&self, stream: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize =
            pending.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| chunk.text.len()).sum();
        if held + text.len() > MAX_PENDING && held > 0 {
            if let Some(chunk) = pending.chunks.iter_mut().rev().find(|chunk| chunk.stream == stream) {
                chunk.missed += text.len();
            }
            return;
        }
        match pending.chunks.last_mut() {
            Some(last) if last.stream == stream && last.missed == 0 => last.text.push_str(text),
            Some(_) | None => pending.chunks.push(Chunk { stream, text: text.to_owned(), missed: 0 }),
        }
        drop(pending);
        self.more.notify_one();
    }

    /// No more output comes.
    pub(crate) fn finish(&self) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).finished = true;
        self.more.notify_one();
    }

    /// Does the work, and forwards output to the listener meanwhile.
    pub(crate) async fn forward_during<T>(&self, work: impl Future<Output = T>, listener: &dyn OutputListener) -> T {
        let (mut work, mut forwarding) = (pin!(work), pin!(self.forward(listener)));
        tokio::select! {
            biased;
            done = &mut work => {
                let _ = timeout(DRAIN_TIMEOUT, forwarding).await;
                done
            }
            () = &mut forwarding => work.await,
        }
    }

    async fn forward(&self, listener: &dyn OutputListener) {
        loop {
            let (chunks, finished) = {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                (std::mem::take(&mut pending.chunks), pending.finished)
            };
            let quiet = chunks.is_empty();
            for chunk in chunks {
                listener.on_output(chunk.stream, chunk.into_text()).await;
            }
            match (quiet, finished) {
                (true, true) => return,
                (true, false) => self.more.notified().await,
                (false, true) => {}
                (false, false) => sleep(COLLECT).await,
            }
        }
    }
}

impl Chunk {
    /// The text, with a note about what was skipped.
    fn into_text(self) -> String {
        match self.missed {
            0 => self.text,
            missed => format!("{}\n[… {missed} bytes skipped …]\n", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<(&'static str, String)>>);

    impl OutputListener for Recorder {
        fn on_output(&self, stream: &'static str, text: String) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push((stream, text));
            Box::pin(std::future::ready(()))
        }
    }

    struct NeverReady;

    impl OutputListener for NeverReady {
        fn on_output(&self, _stream: &'static str, _text: String) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_forwarded_in_its_order_and_neighbours_together() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorder::default());
        let work = async {
            for (stream, text) in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")] {
                forwarder.add(stream, text);
            }
            forwarder.finish();
            7
        };
        assert_eq!(forwarder.forward_during(work, &recorded).await, 7);
        let recorded = recorded.0.into_inner().unwrap();
        assert_eq!(recorded, [("stdout", "ab".to_owned()), ("stderr", "c".to_owned()), ("stdout", "d".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_never_returns_delays_nothing_and_costs_little() {
        let forwarder = OutputForwarder::default();
        let line = "x".repeat(1000);
        let work = async {
            for _ in 0..100_000 {
                forwarder.add("stdout", &line);
                tokio::task::yield_now().await;
            }
            forwarder.finish();
        };
        forwarder.forward_during(work, &NeverReady).await;
        let held: usize = forwarder.pending.lock().unwrap().chunks.iter().map(|chunk| chunk.text.len()).sum();
        assert!(held <= MAX_PENDING, "{held}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_skipped_is_counted() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorder::default());
        forwarder.add("stdout", &"x".repeat(MAX_PENDING));
        forwarder.add("stdout", "1234567");
        forwarder.finish();
        forwarder.forward_during(std::future::ready(()), &recorded).await;
        assert!(recorded.0.lock().unwrap()[0].1.ends_with("x\n[… 7 bytes skipped …]\n"));
    }
}
