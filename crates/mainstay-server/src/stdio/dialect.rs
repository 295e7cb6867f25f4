//! A dialect on stdio: one message a line. What a line means is the dialect's; the loop around it, the end of input,
//! stopping and a client that does not read are the same for all of them.
//!
//! How the connection ends is a state of it: gracefully, so that what runs is finished and answered, or because nobody can
//! be answered any more.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{CancellationToken, Error, new_id};
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::Refusal;
use mainstay_wire::{ConnectionState, Dialect, Endpoint, ErrorResponse, Event, Id, Operation, Request};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use super::lines::{CANCEL_GRACE, Line, Output, QUEUE_LENGTH, TooLong, each_line, standard_input};
use crate::connection::Connection;
use crate::dialect::{Dispatcher, RequestContext};
use crate::{About, ServerSettings, StartError};

/// The program at the other end of the pipe.
struct Client {
    connection: Connection,
    session: Arc<str>,
    /// Of responses, and of chunks that are sent before them.
    output: Output,
    /// Cancels what is still running when nobody waits for it any more.
    cut_off: CancellationToken,
}

pub(super) async fn serve(
    engine: &Engine,
    about: &About,
    dialect: Arc<dyn Dialect>,
    settings: &ServerSettings,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let queue = queue_length(&*dialect);
    let output = Output::open(queue.responses, settings.unsent_bytes, dialect.limits().write_bytes)?;
    let mut requests = {
        let (to_server, requests) = mpsc::channel(queue.requests);
        let (dialect, limit) = (dialect.clone(), dialect.limits().message_bytes.unwrap_or(settings.message_bytes));
        let input = standard_input()?;
        // Reading blocks.
        std::thread::spawn(move || read(input, limit, |line| decode(&*dialect, &line), &to_server));
        requests
    };
    let slots = Arc::new(Semaphore::new(at_once(&*dialect, engine)));
    // A call without an id runs whether or not anybody reads.
    let (needs_reader, is_sequential) = (!dialect.runs_calls_without_id(), dialect.is_sequential());
    let dispatcher = Dispatcher::new(engine.clone(), dialect, Endpoint::Stdio, about.version);
    let mut calls = Calls::new(dispatcher, Client::new(engine, &output));
    let drain = Duration::from_secs(engine.settings().drain_seconds);
    let (waiting, shut_down) = (output.clone(), CancellationToken::new());
    let mut ends = std::pin::pin!(async {
        tokio::select! {
            () = stop.cancelled() => Event::End,
            () = shut_down.cancelled() => Event::End,
            () = waiting.abandoned(drain) => Event::Error,
            () = waiting.lines.closed(), if needs_reader => Event::Error,
        }
    });
    let mut shut_down_by: Option<Instant> = None;
    let end = loop {
        let next = async {
            calls.answered_in_order().await;
            // Where one runs at a time, the next is not taken before its turn. Elsewhere it is, because it may be a
            // notification that cancels one of those that run.
            let turn = if is_sequential { Some(slots.clone().acquire_owned().await) } else { None };
            (turn, requests.recv().await)
        };
        let (turn, request) = tokio::select! {
            next = next => match next {
                (turn, Some(request)) => (turn, request),
                (_, None) => break Event::End,
            },
            event = &mut ends => break event,
        };
        // Here and not in the task: tasks run in any order, and the state depends on the order of requests.
        let accepted = calls.dispatcher.accept(&request);
        if request.operation == Operation::Exit {
            break Event::End;
        }
        if let Operation::Cancel { id } = &request.operation {
            calls.running.cancel(id);
            continue;
        }
        // No more is read than can run: a client that does not read its responses has to wait with its requests.
        let may_start = async {
            output.room().await;
            if let Some(turn) = turn { turn } else { slots.clone().acquire_owned().await }
        };
        let slot = tokio::select! {
            slot = may_start => slot,
            event = &mut ends => break event,
        };
        calls.start(request, accepted, slot);
        // From then on every request is refused, for as long as the running ones may take.
        if shut_down_by.is_none() && calls.dispatcher.state().is_shutting() {
            shut_down_by = Some(Instant::now() + drain);
            let time_is_up = shut_down.clone();
            tokio::spawn(async move {
                sleep(drain).await;
                time_is_up.cancel();
            });
        }
    };
    // A client that piped its requests in and closed the pipe still wants the responses; one that does not read them
    // does not.
    let until = if calls.dispatcher.event(end) == (ConnectionState::Shutting { graceful: false }) {
        Instant::now()
    } else {
        shut_down_by.unwrap_or_else(|| Instant::now() + drain)
    };
    // Calls that still wait for their turn are rejected, so that the time is left to those that run.
    if stop.is_cancelled() {
        engine.drain().await;
    }
    calls.finish(until).await;
    output.finish().await;
    Ok(())
}

/// The requests of the connection that are being carried out.
struct Calls {
    dispatcher: Arc<Dispatcher>,
    client: Arc<Client>,
    tasks: TaskTracker,
    running: RunningRequests,
    /// The last request whose outcome decides about the next one.
    last_in_order: Option<JoinHandle<()>>,
}

impl Calls {
    fn new(dispatcher: Dispatcher, client: Client) -> Self {
        let (dispatcher, client) = (Arc::new(dispatcher), Arc::new(client));
        Self { dispatcher, client, tasks: TaskTracker::new(), running: RunningRequests::default(), last_in_order: None }
    }

    /// Carries out a request. `slot` is held until its response is queued: the limit covers responses that nobody reads
    /// yet.
    fn start(&mut self, request: Request, accepted: Result<(), ErrorResponse>, slot: impl Send + 'static) {
        let is_in_order = matches!(request.operation, Operation::Initialize(_) | Operation::Shutdown);
        let (dispatcher, client, id) = (self.dispatcher.clone(), self.client.clone(), request.id.clone());
        let own_id = id.clone();
        let context = client.context(dispatcher.dialect.wants_chunks(&request));
        let cancel = context.cancel.clone();
        let task = self.tasks.spawn(async move {
            let response = dispatcher.answer_accepted(request, accepted, &context).await;
            let line = response.body.map(|body| client.output.count(body)).transpose();
            let line = line.unwrap_or_else(|not_kept| {
                let error = Error::unavailable(not_kept.message());
                dispatcher.failed(&error, id.as_ref()).body.map(Into::into)
            });
            if let Some(line) = line {
                let _ = client.output.lines.send(line).await;
            }
            drop(slot);
        });
        self.running.add(own_id, cancel, &task);
        if is_in_order {
            self.last_in_order = Some(task);
        }
    }

    /// Waits for the response to `initialize` or `shutdown`, if that is what came last.
    async fn answered_in_order(&mut self) {
        if let Some(answering) = self.last_in_order.take() {
            let _ = answering.await;
        }
    }

    /// Waits for what runs until this time, and cancels the rest.
    async fn finish(&self, until: Instant) {
        // Waiting for a tracker ends only once it is closed.
        self.tasks.close();
        if timeout_at(until, self.tasks.wait()).await.is_err() {
            self.client.cut_off.cancel();
            // What is left has only responses to write, and perhaps nobody reads them.
            let _ = timeout(CANCEL_GRACE, self.tasks.wait()).await;
        }
        self.dispatcher.event(Event::Drained);
    }
}

impl Client {
    fn new(engine: &Engine, output: &Output) -> Self {
        Self {
            connection: Connection::local(engine),
            session: new_id().into(),
            output: output.clone(),
            cut_off: CancellationToken::new(),
        }
    }

    fn context(&self, wants_chunks: bool) -> RequestContext {
        RequestContext {
            connection: self.connection.clone(),
            request_id: new_id().into(),
            session: Some(self.session.clone()),
            claimed_session: None,
            claimed_user: None,
            idempotency_key: None,
            chunks: wants_chunks.then(|| self.output.lines.clone()),
            cancel: self.cut_off.child_token(),
        }
    }
}

/// The requests that run, so that they can be cancelled. Those that have ended are removed when there are many: each removing
/// itself would need a lock.
#[derive(Default)]
struct RunningRequests(Vec<(Id, CancellationToken, AbortHandle)>);

impl RunningRequests {
    /// Beyond it those that have ended are removed.
    const MANY: usize = 1024;

    fn add(&mut self, id: Option<Id>, cancel: CancellationToken, task: &JoinHandle<()>) {
        if self.0.len() >= Self::MANY {
            self.0.retain(|(_, _, task)| !task.is_finished());
        }
        self.0.extend(id.map(|id| (id, cancel, task.abort_handle())));
    }

    /// An id that is not of a running request is ignored: its answer may be on the way.
    fn cancel(&self, id: &Value) {
        let is_meant = |(own, _, task): &&(Id, CancellationToken, AbortHandle)| !task.is_finished() && own.is(id);
        // Newest first: an id may be used again once its request has been answered.
        if let Some((_, cancel, _)) = self.0.iter().rev().find(is_meant) {
            cancel.cancel();
        }
    }
}

/// How many requests run at once: as many as may run or wait in one connection's lane, or as the contract says.
fn at_once(dialect: &dyn Dialect, engine: &Engine) -> usize {
    let settings = engine.settings();
    let lane = settings.in_flight_per_connection.saturating_add(settings.queue_per_connection) as usize;
    let contract = dialect.limits().in_flight.unwrap_or(usize::MAX);
    if dialect.is_sequential() { 1 } else { lane.min(contract).max(1) }
}

/// How many messages may wait in each direction.
struct QueueLength {
    requests: usize,
    responses: usize,
}

/// A message takes many times its length in memory once it is decoded, and where one runs at a time nothing is gained by
/// decoding early. Where the contract allows long messages, fewer of them wait: what waits is memory.
fn queue_length(dialect: &dyn Dialect) -> QueueLength {
    const LONG_MESSAGES: usize = 16;
    let has_long = |limit: Option<usize>| limit.is_some_and(|limit| limit >= 1024 * 1024);
    let length = |limit| if has_long(limit) { LONG_MESSAGES } else { QUEUE_LENGTH };
    let requests = if dialect.is_sequential() { 1 } else { length(dialect.limits().message_bytes) };
    QueueLength { requests, responses: length(dialect.policy().response_bytes) }
}

/// The request in a line, or the dialect's own error for one that is too long. `None` if nothing is to be answered.
fn decode(dialect: &dyn Dialect, line: &Line<'_>) -> Option<Request> {
    match line {
        Ok(message) => dialect.decode(message),
        Err(TooLong { limit, id }) => {
            let refusal = if dialect.answers_long_messages_by_id() {
                Refusal::too_long_with_id(*limit, id.clone())
            } else {
                Refusal::too_long(*limit)
            };
            Some(Request::malformed(&refusal, dialect.too_long(&refusal)))
        }
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
        let dialect = mainstay_wire::context::Context::new(Duration::from_secs(1));
        let (to_server, mut requests) = mpsc::channel(queue_length(&dialect).requests);
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

    #[test]
    fn a_line_that_is_too_long_is_answered_under_its_id_where_the_dialect_wants_that() {
        let line = || Err(TooLong { limit: 5, id: mainstay_wire::jsonrpc::id_of(br#"{"id":"x"}"#) });
        let id = |dialect: &dyn Dialect| decode(dialect, &line()).unwrap().id.unwrap().to_string();
        assert_eq!(id(&mainstay_wire::toolkit::Toolkit::new().unwrap()), "\"x\"");
        assert_eq!(id(&mainstay_wire::agents::Agents), "null");
    }
}
