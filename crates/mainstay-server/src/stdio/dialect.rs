//! A dialect on stdio: one message a line. What a line means is the dialect's; the loop around it, the end of input,
//! stopping and a client that does not read are the same for all of them.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{CancellationToken, new_id};
use mainstay_engine::Engine;
use mainstay_wire::{Dialect, Endpoint, Request};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use super::lines::{CANCEL_GRACE, Line, Output, QUEUE_LENGTH, each_line};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, RequestContext};
use crate::{About, StartError};

/// The program at the other end of the pipe.
struct Client {
    connection: Connection,
    session: Arc<str>,
    /// Responses, and chunks that are sent before them.
    lines: mpsc::Sender<Vec<u8>>,
    /// Cancels what is still running when nobody waits for it any more.
    cut_off: CancellationToken,
}

pub(super) async fn serve(
    engine: &Engine,
    about: &About,
    dialect: Arc<dyn Dialect>,
    message_bytes: usize,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let output = Output::open()?;
    // In a dialect without order, requests may be calls without an id, which run whether or not anybody reads.
    let is_sequential = dialect.is_sequential();
    let mut requests = {
        let (to_server, requests) = mpsc::channel(ahead(is_sequential));
        let (dialect, limit) = (dialect.clone(), dialect.message_bytes().unwrap_or(message_bytes));
        // Reading blocks.
        std::thread::spawn(move || read(std::io::stdin().lock(), limit, |line| decode(&*dialect, &line), &to_server));
        requests
    };
    let client = Arc::new(Client {
        connection: Connection::local(engine),
        session: new_id().into(),
        lines: output.lines.clone(),
        cut_off: CancellationToken::new(),
    });
    let dispatcher = Arc::new(Dispatcher::new(engine.clone(), dialect, Endpoint::Stdio, about.version));
    let (calls, slots) = (TaskTracker::new(), Arc::new(Semaphore::new(at_once(is_sequential, engine))));
    let drain = Duration::from_secs(engine.settings().drain_seconds);
    let waiting = output.clone();
    let mut abandoned = std::pin::pin!(waiting.abandoned(drain));
    // A client that piped its requests in and closed the pipe still wants the responses; one that does not read them
    // does not.
    let until = loop {
        // No more is read than can run: a client that does not read its responses has to wait with its requests.
        let next = async { (slots.clone().acquire_owned().await, requests.recv().await) };
        let (slot, request) = tokio::select! {
            next = next => match next {
                (slot, Some(request)) => (slot, request),
                (_, None) => break Instant::now() + drain,
            },
            () = stop.cancelled() => break Instant::now() + drain,
            () = &mut abandoned => break Instant::now(),
            () = client.lines.closed(), if is_sequential => break Instant::now(),
        };
        let (dispatcher, client) = (dispatcher.clone(), client.clone());
        calls.spawn(async move {
            let context = client.context(dispatcher.dialect.wants_chunks(&request));
            if let Some(body) = dispatcher.answer(request, &context).await.body {
                let _ = client.lines.send(body).await;
            }
            // Held until the response is queued: the limit covers responses that nobody reads yet.
            drop(slot);
        });
    };
    // Waiting for a tracker ends only once it is closed.
    calls.close();
    // Calls that still wait for their turn are rejected, so that the time is left to those that run.
    if stop.is_cancelled() {
        engine.drain().await;
    }
    if timeout_at(until, calls.wait()).await.is_err() {
        client.cut_off.cancel();
        // What is left has only responses to write, and perhaps nobody reads them.
        let _ = timeout(CANCEL_GRACE, calls.wait()).await;
    }
    output.finish().await;
    Ok(())
}

impl Client {
    fn context(&self, wants_chunks: bool) -> RequestContext {
        RequestContext {
            connection: self.connection.clone(),
            request_id: new_id().into(),
            session: Some(self.session.clone()),
            claimed_session: None,
            claimed_user: None,
            idempotency_key: None,
            chunks: wants_chunks.then(|| self.lines.clone()),
            cancel: self.cut_off.child_token(),
        }
    }
}

/// How many requests run at once: as many as may run or wait in one connection's lane.
fn at_once(is_sequential: bool, engine: &Engine) -> usize {
    let settings = engine.settings();
    let lane = settings.in_flight_per_connection.saturating_add(settings.queue_per_connection) as usize;
    if is_sequential { 1 } else { lane.max(1) }
}

/// How many decoded requests may wait. A message takes many times its length in memory once it is decoded, and where one
/// runs at a time nothing is gained by decoding early.
fn ahead(is_sequential: bool) -> usize {
    if is_sequential { 1 } else { QUEUE_LENGTH }
}

/// The request in a line, or the dialect's own error for one that is too long. `None` if nothing is to be answered.
fn decode(dialect: &dyn Dialect, line: &Line<'_>) -> Option<Request> {
    match line {
        Ok(message) => dialect.decode(message),
        Err(refusal) => Some(Request::malformed(refusal, dialect.too_long(refusal))),
    }
}

/// Reads to the end of the input, or until the server does not want any more.
fn read<R>(input: impl BufRead, limit: usize, decode: impl Fn(Line<'_>) -> Option<R>, to_server: &mpsc::Sender<R>) {
    each_line(input, limit, |line| match decode(line) {
        Some(request) => to_server.blocking_send(request).is_ok(),
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn in_turn_no_line_is_looked_at_long_before_its_turn() {
        let decoded = Arc::new(AtomicUsize::new(0));
        let (to_server, mut requests) = mpsc::channel(ahead(true));
        let count = decoded.clone();
        let decode = move |_: Line<'_>| {
            count.fetch_add(1, Ordering::SeqCst);
            Some(())
        };
        std::thread::spawn(move || read("x\n".repeat(5000).as_bytes(), 1000, decode, &to_server));
        let mut received = 0;
        while requests.blocking_recv().is_some() {
            received += 1;
            // One waits, and one has been decoded and cannot even wait yet.
            let seen = decoded.load(Ordering::SeqCst);
            assert!(seen <= received + 2, "{seen} lines were decoded when {received} had been received");
        }
        assert_eq!(received, 5000);
    }
}
