//! A dialect on a pipe: what it does with a line is its own, and the loop around that is the same for every one.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Caller, CancellationToken, new_id};
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::Refusal;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use super::lines::{AHEAD, CUT_OFF, Output, each_line};
use crate::StartError;
use crate::mcp::Origin;

/// Turns lines into requests, and requests into answers.
pub(super) trait Interpreter: Send + Sync + 'static {
    type Request: Send + 'static;

    /// The longest line it takes.
    fn message_bytes(&self) -> usize;

    fn turns(&self) -> Turns;

    /// Looks at one line, or at the news that it was too long to be read.
    fn read(&self, line: Result<&[u8], Refusal>) -> Read<Self::Request>;

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
    pub(super) origin: Origin,
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
    let mut entries = read(interpreter.clone(), output.lines().clone());
    let client = Arc::new(Client {
        origin: Origin { caller: Arc::new(Caller::local(None)), lane: engine.lane() },
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
}

/// What waits for its turn.
enum Entry<R> {
    Request(R),
    Refused(Vec<u8>),
}

/// Reads on a thread of its own.
fn read<I: Interpreter>(interpreter: Arc<I>, to_client: mpsc::Sender<Vec<u8>>) -> mpsc::Receiver<Entry<I::Request>> {
    let (to_server, entries) = mpsc::channel(AHEAD);
    let (limit, turns) = (interpreter.message_bytes(), interpreter.turns());
    std::thread::spawn(move || {
        each_line(limit, |line| match (interpreter.read(line), turns) {
            (Read::Request(request), _) => to_server.blocking_send(Entry::Request(request)).is_ok(),
            (Read::Refused(answer), Turns::InTurn) => to_server.blocking_send(Entry::Refused(answer)).is_ok(),
            (Read::Refused(answer), Turns::SideBySide(_)) => to_client.blocking_send(answer).is_ok(),
            (Read::Nothing, _) => true,
        });
    });
    entries
}
