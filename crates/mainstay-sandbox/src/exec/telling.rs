//! Telling of output while it appears. It never holds up the command: whoever listens too slowly misses some of it, is
//! told how much, and finds all that is kept in the result.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::run::OutputListener;

/// How long output is gathered before it is passed on.
const GATHER: Duration = Duration::from_millis(25);

/// How much may wait for a slow listener, of each stream.
const MOST: usize = 256 * 1024;

/// How long a listener has for the rest when the command has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Telling {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    /// In the order in which they came; neighbours are of different streams.
    pieces: Vec<Piece>,
    over: bool,
}

struct Piece {
    stream: &'static str,
    text: String,
    missed: usize,
}

impl Telling {
    pub(super) fn add(&self, stream: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize =
            waiting.pieces.iter().filter(|piece| piece.stream == stream).map(|piece| piece.text.len()).sum();
        if held + text.len() > MOST && held > 0 {
            if let Some(piece) = waiting.pieces.iter_mut().rev().find(|piece| piece.stream == stream) {
                piece.missed += text.len();
            }
            return;
        }
        match waiting.pieces.last_mut() {
            Some(last) if last.stream == stream && last.missed == 0 => last.text.push_str(text),
            Some(_) | None => waiting.pieces.push(Piece { stream, text: text.to_owned(), missed: 0 }),
        }
        drop(waiting);
        self.more.notify_one();
    }

    /// Nothing more comes.
    pub(super) fn finish(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.more.notify_one();
    }

    /// Does the work, and tells the listener meanwhile.
    pub(super) async fn beside<T>(&self, work: impl Future<Output = T>, listener: &dyn OutputListener) -> T {
        let (mut work, mut telling) = (pin!(work), pin!(self.tell(listener)));
        tokio::select! {
            biased;
            done = &mut work => {
                let _ = timeout(LAST_WORDS, telling).await;
                done
            }
            () = &mut telling => work.await,
        }
    }

    async fn tell(&self, listener: &dyn OutputListener) {
        loop {
            let (pieces, over) = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                (std::mem::take(&mut waiting.pieces), waiting.over)
            };
            let quiet = pieces.is_empty();
            for piece in pieces {
                listener.on_output(piece.stream, piece.told()).await;
            }
            match (quiet, over) {
                (true, true) => return,
                (true, false) => self.more.notified().await,
                (false, true) => {}
                (false, false) => sleep(GATHER).await,
            }
        }
    }
}

impl Piece {
    fn told(self) -> String {
        match self.missed {
            0 => self.text,
            missed => format!("{}\n[… {missed} bytes not told …]\n", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::BoxFuture;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(&'static str, String)>>);

    impl OutputListener for Heard {
        fn on_output(&self, stream: &'static str, text: String) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push((stream, text));
            Box::pin(std::future::ready(()))
        }
    }

    struct Deaf;

    impl OutputListener for Deaf {
        fn on_output(&self, _stream: &'static str, _text: String) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_told_in_its_order_and_neighbours_together() {
        let (telling, heard) = (Telling::default(), Heard::default());
        let work = async {
            for (stream, text) in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")] {
                telling.add(stream, text);
            }
            telling.finish();
            7
        };
        assert_eq!(telling.beside(work, &heard).await, 7);
        let heard = heard.0.into_inner().unwrap();
        assert_eq!(heard, [("stdout", "ab".to_owned()), ("stderr", "c".to_owned()), ("stdout", "d".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_does_not_listen_holds_nothing_up_and_costs_little() {
        let telling = Telling::default();
        let line = "x".repeat(1000);
        let work = async {
            for _ in 0..100_000 {
                telling.add("stdout", &line);
                tokio::task::yield_now().await;
            }
            telling.finish();
        };
        telling.beside(work, &Deaf).await;
        let held: usize = telling.waiting.lock().unwrap().pieces.iter().map(|piece| piece.text.len()).sum();
        assert!(held <= MOST, "{held}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_missed_is_counted() {
        let (telling, heard) = (Telling::default(), Heard::default());
        telling.add("stdout", &"x".repeat(MOST));
        telling.add("stdout", "1234567");
        telling.finish();
        telling.beside(std::future::ready(()), &heard).await;
        assert!(heard.0.lock().unwrap()[0].1.ends_with("x\n[… 7 bytes not told …]\n"));
    }
}
