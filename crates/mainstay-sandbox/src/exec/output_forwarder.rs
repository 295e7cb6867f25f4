//! Output of a running command on its way to a listener.
//!
//! What waits for the listener is bounded: when there is too much of it, reading from the command waits too, its pipe
//! fills up, and it stops writing until the listener has caught up. Nothing is left out meanwhile.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::BoxFuture;
use tokio::sync::Notify;
use tokio::time::sleep;

/// How long output is collected before it is forwarded, so that many small writes become one event.
const COLLECT: Duration = Duration::from_millis(25);

/// How many bytes of each stream may wait for a slow listener.
const MAX_PENDING: usize = 256 * 1024;

/// Receives output as it appears: called with the stream (`stdout` or `stderr`) and a chunk of its text.
pub type OutputListener<'a> = &'a (dyn Fn(&'static str, String) -> BoxFuture<'a, ()> + Send + Sync);

/// Output that waits to be forwarded.
#[derive(Default)]
pub(super) struct OutputForwarder {
    pending: Mutex<Pending>,
    /// There is output to forward, or no more comes.
    more: Notify,
    /// There is room for output, or waiting for it is over.
    room: Notify,
}

/// What has not been forwarded yet.
#[derive(Default)]
struct Pending {
    /// In the order of arrival; neighbours are of different streams.
    chunks: Vec<Chunk>,
    finished: bool,
    /// The command's time is up: what does not fit is left out, and counted.
    over: bool,
}

/// Output of one stream, and how many bytes of it were left out after the text.
struct Chunk {
    stream: &'static str,
    text: String,
    missed: usize,
}

impl Pending {
    /// Adds output of a stream, if there is room for it or waiting is over.
    fn take(&mut self, stream: &'static str, text: &str) -> bool {
        let held: usize = self.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| chunk.text.len()).sum();
        let fits = held == 0 || held + text.len() <= MAX_PENDING;
        if !fits && !self.over {
            return false;
        }
        match self.chunks.iter_mut().rev().find(|chunk| chunk.stream == stream) {
            Some(chunk) if !fits => chunk.missed += text.len(),
            Some(_) | None => match self.chunks.last_mut() {
                Some(last) if last.stream == stream && last.missed == 0 => last.text.push_str(text),
                Some(_) | None => self.chunks.push(Chunk { stream, text: text.to_owned(), missed: 0 }),
            },
        }
        true
    }
}

impl OutputForwarder {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds output of a stream, as soon as there is room for it.
    pub(super) async fn add(&self, stream: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        loop {
            let mut room = pin!(self.room.notified());
            // From here on no notice is missed.
            room.as_mut().enable();
            if self.pending().take(stream, text) {
                self.more.notify_one();
                return;
            }
            room.await;
        }
    }

    /// No more output comes.
    pub(super) fn finish(&self) {
        self.pending().finished = true;
        self.more.notify_one();
    }

    /// Output does not wait for the listener any more: what does not fit is left out.
    pub(super) fn stop_waiting(&self) {
        self.pending().over = true;
        self.room.notify_waiters();
    }

    /// Forwards output to the listener until no more comes.
    pub(super) async fn forward(&self, listener: OutputListener<'_>) {
        loop {
            let (chunks, finished) = {
                let mut pending = self.pending();
                (std::mem::take(&mut pending.chunks), pending.finished)
            };
            self.room.notify_waiters();
            let quiet = chunks.is_empty();
            for Chunk { stream, text, missed } in chunks {
                let skipped = if missed == 0 { String::new() } else { format!("\n[… {missed} bytes skipped …]\n") };
                listener(stream, text + &skipped).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    type Recorded = Mutex<Vec<(&'static str, String)>>;

    fn record(recorded: &Recorded, stream: &'static str, text: String) -> BoxFuture<'static, ()> {
        recorded.lock().unwrap().push((stream, text));
        Box::pin(std::future::ready(()))
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_forwarded_in_its_order_and_neighbours_together() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorded::default());
        for (stream, text) in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")] {
            forwarder.add(stream, text).await;
        }
        forwarder.finish();
        forwarder.forward(&|stream, text| record(&recorded, stream, text)).await;
        let recorded = recorded.into_inner().unwrap();
        assert_eq!(recorded, [("stdout", "ab".to_owned()), ("stderr", "c".to_owned()), ("stdout", "d".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_listener_slows_the_work_and_misses_nothing() {
        let (forwarder, recorded, most) = (OutputForwarder::default(), Recorded::default(), Mutex::new(0));
        let line = "x".repeat(1000);
        let work = async {
            for _ in 0..3000 {
                forwarder.add("stdout", &line).await;
                let held: usize = forwarder.pending().chunks.iter().map(|chunk| chunk.text.len()).sum();
                let mut most = most.lock().unwrap();
                *most = held.max(*most);
            }
            forwarder.finish();
        };
        let all = &recorded;
        let slow = |stream, text| -> BoxFuture<'_, ()> {
            Box::pin(async move {
                sleep(Duration::from_secs(1)).await;
                record(all, stream, text).await;
            })
        };
        tokio::join!(work, forwarder.forward(&slow));
        let received: usize = recorded.lock().unwrap().iter().map(|(_, text)| text.len()).sum();
        assert_eq!(received, 3000 * line.len());
        assert!(*most.lock().unwrap() <= MAX_PENDING);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_out_after_the_time_is_up_is_counted() {
        let (forwarder, recorded) = (OutputForwarder::default(), Recorded::default());
        forwarder.add("stdout", &"x".repeat(MAX_PENDING)).await;
        tokio::join!(forwarder.add("stdout", "1234567"), async { forwarder.stop_waiting() });
        forwarder.finish();
        forwarder.forward(&|stream, text| record(&recorded, stream, text)).await;
        assert!(recorded.lock().unwrap()[0].1.ends_with("x\n[… 7 bytes skipped …]\n"));
    }
}
