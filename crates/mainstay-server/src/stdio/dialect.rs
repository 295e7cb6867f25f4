//! A dialect on a pipe: what it does with a line is its own, and the loop around that is the same for every one.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{CancellationToken, new_id};
use mainstay_engine::Engine;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use super::lines::{AHEAD, CUT_OFF, Line, Output, each_line};
use crate::StartError;
use crate::connection::Connection;

/// Turns lines into requests, and requests into answers.
pub(super) trait Interpreter: Send + Sync + 'static {
    type Request: Send + 'static;

    /// The longest line it takes.
    fn message_bytes(&self) -> usize;

    fn turns(&self) -> Turns;

    /// Looks at one line, or at the beginning of one that is too long. Lines come here one after the other in their
    /// order, whatever the turns of the answers: what has to be decided in that order, as whether a gate is open, is
    /// decided here.
    fn read(&self, line: Line<'_>) -> Read<Self::Request>;

    /// Does what is asked. The answer, unless nobody waits for one.
    fn answer(&self, request: Self::Request, client: &Client) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

/// In what order answers come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turns {
    /// So many requests are under way at once, and each is answered when it is done. A line that is no request is
    /// answered where it is read.
    SideBySide(usize),
    /// Each line is answered before the next one is looked at, so that the same lines give the same bytes.
    InTurn,
}

/// What a line turned out to be.
pub(super) enum Read<R> {
    Request(R),
    /// No request, and this is its answer.
    Refused(Vec<u8>),
    /// Nothing that is answered.
    Nothing,
}

/// The one at the other end of the pipe.
pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) session: Arc<str>,
    /// For what is said before the answer.
    pub(super) lines: mpsc::Sender<Vec<u8>>,
    /// Ends what is still running when nobody waits for it any more.
    pub(super) cut_off: CancellationToken,
}

/// Serves whoever started this process, until the end of input or until `stop`.
pub(super) async fn serve<I: Interpreter>(
    engine: &Engine,
    interpreter: I,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let interpreter = Arc::new(interpreter);
    let output = Output::open()?;
    let mut entries = {
        let (to_server, entries) = mpsc::channel(interpreter.turns().ahead());
        let (interpreter, to_client) = (interpreter.clone(), output.lines().clone());
        // Reading blocks.
        std::thread::spawn(move || read(std::io::stdin().lock(), &*interpreter, &to_server, &to_client));
        entries
    };
    let client = Arc::new(Client {
        connection: Connection::local(engine),
        session: new_id().into(),
        lines: output.lines().clone(),
        cut_off: CancellationToken::new(),
    });
    let turns = interpreter.turns();
    let (calls, places) = (TaskTracker::new(), Arc::new(Semaphore::new(turns.at_once())));
    let patience = Duration::from_secs(engine.settings().drain_seconds);
    let waiting = output.clone();
    let mut abandoned = std::pin::pin!(waiting.abandoned(patience));
    // Side by side, calls are made that nobody waits for, and whether anybody could hear of them is all the same.
    let each_is_heard = matches!(turns, Turns::InTurn);
    // Whoever piped requests in and closed the pipe still wants the answers; whoever does not read them does not.
    let until = loop {
        // No more is read than can be under way: a client that does not read its answers has to wait with its questions.
        let next = async { (places.clone().acquire_owned().await, entries.recv().await) };
        let (place, entry) = tokio::select! {
            next = next => match next {
                (place, Some(entry)) => (place, entry),
                (_, None) => break Instant::now() + patience,
            },
            () = stop.cancelled() => break Instant::now() + patience,
            () = &mut abandoned => break Instant::now(),
            () = client.lines.closed(), if each_is_heard => break Instant::now(),
        };
        let (interpreter, client) = (interpreter.clone(), client.clone());
        calls.spawn(async move {
            let answer = match entry {
                Entry::Request(request) => interpreter.answer(request, &client).await,
                Entry::Refused(answer) => Some(answer),
            };
            if let Some(answer) = answer {
                let _ = client.lines.send(answer).await;
            }
            drop(place);
        });
    };
    calls.close();
    if stop.is_cancelled() {
        engine.drain().await;
    }
    if timeout_at(until, calls.wait()).await.is_err() {
        client.cut_off.cancel();
        // What is left has no work any more, only answers, and for those there may be nobody.
        let _ = timeout(CUT_OFF, calls.wait()).await;
    }
    output.finish().await;
    Ok(())
}

impl Turns {
    fn at_once(self) -> usize {
        match self {
            Self::SideBySide(most) => most.max(1),
            Self::InTurn => 1,
        }
    }

    /// How many requests may wait. A message takes many times its length once it is taken apart, and where there is one
    /// turn at a time nothing is won by hurrying.
    fn ahead(self) -> usize {
        match self {
            Self::SideBySide(_) => AHEAD,
            Self::InTurn => 1,
        }
    }
}

/// What waits for its turn.
enum Entry<R> {
    Request(R),
    Refused(Vec<u8>),
}

/// Reads to the end of the input, or until nobody wants to know.
fn read<I: Interpreter>(
    input: impl BufRead,
    interpreter: &I,
    to_server: &mpsc::Sender<Entry<I::Request>>,
    to_client: &mpsc::Sender<Vec<u8>>,
) {
    let turns = interpreter.turns();
    each_line(input, interpreter.message_bytes(), |line| match (interpreter.read(line), turns) {
        (Read::Request(request), _) => to_server.blocking_send(Entry::Request(request)).is_ok(),
        (Read::Refused(answer), Turns::InTurn) => to_server.blocking_send(Entry::Refused(answer)).is_ok(),
        (Read::Refused(answer), Turns::SideBySide(_)) => to_client.blocking_send(answer).is_ok(),
        (Read::Nothing, _) => true,
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts the lines it has been shown.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Interpreter for Counting {
        type Request = ();

        fn message_bytes(&self) -> usize {
            1000
        }

        fn turns(&self) -> Turns {
            Turns::InTurn
        }

        fn read(&self, _: Line<'_>) -> Read<()> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Read::Request(())
        }

        async fn answer(&self, (): (), _: &Client) -> Option<Vec<u8>> {
            None
        }
    }

    #[test]
    fn in_turn_no_line_is_looked_at_long_before_its_turn() {
        let counting = Arc::new(Counting::default());
        let (to_server, mut entries) = mpsc::channel(counting.turns().ahead());
        let (to_client, _unused) = mpsc::channel(1);
        let reader = counting.clone();
        std::thread::spawn(move || read("x\n".repeat(5000).as_bytes(), &*reader, &to_server, &to_client));
        let mut taken = 0;
        while entries.blocking_recv().is_some() {
            taken += 1;
            // One waits, and one has been looked at and cannot even wait yet.
            let seen = counting.0.load(Ordering::SeqCst);
            assert!(seen <= taken + 2, "{seen} lines were looked at when {taken} had been taken");
        }
        assert_eq!(taken, 5000);
    }
}
