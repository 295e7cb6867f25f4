//! The standard protocol over standard input and output: one message a line.

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainstay_core::{Caller, CancellationToken, new_id};
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::{self, Frame, Refusal};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::About;
use crate::mcp::{Handler, Origin, Piped, Plain, Shared};

/// Messages read ahead of the server, and replies waiting for a slow reader.
const AHEAD: usize = 256;

/// What tells the writer that nothing follows: the reader may still hold its end of the channel.
const END: Vec<u8> = Vec::new();

/// Serves whoever started this process, until the end of input or until `stop`.
pub async fn serve_stdio(engine: &Engine, about: &About, message_bytes: usize, stop: CancellationToken) {
    let shared = Arc::new(Shared::new(engine.clone(), about));
    let piped = Piped {
        origin: Origin { caller: Arc::new(Caller::local(None)), lane: engine.lane() },
        session: new_id().into(),
        ended: CancellationToken::new(),
    };
    let counter = Counter { shared: shared.clone(), piped: piped.clone(), runtime: Handle::current() };
    let lines = Lines::open(counter, message_bytes, Duration::from_secs(engine.settings().drain_seconds));
    loop {
        let handler = Handler::over_stdio(shared.clone(), piped.clone());
        let served = tokio::select! {
            served = serve_server(handler, lines.transport()) => served,
            () = stop.cancelled() => break,
        };
        match served {
            Ok(running) => {
                let ct = running.cancellation_token();
                let mut serving = std::pin::pin!(running.waiting());
                tokio::select! {
                    _ = &mut serving => {}
                    () = stop.cancelled() => {
                        // What runs is given its time, and what it says is written.
                        piped.ended.cancel();
                        engine.drain().await;
                        lines.answered().await;
                        ct.cancel();
                        let _ = serving.await;
                    }
                }
                break;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => break,
            // The opening was not one; the client has been told why and may try again.
            Err(error) => tracing::debug!(%error, "a handshake failed"),
        }
    }
    lines.finish().await;
}

/// The two pipes, and which requests are still to be answered.
#[derive(Clone)]
struct Lines {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<ClientJsonRpcMessage>>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    open: Arc<Open>,
    ended: CancellationToken,
    written: watch::Receiver<bool>,
    /// How long answers are waited for after the end of input.
    patience: Duration,
    until: Arc<OnceLock<Instant>>,
}

/// Requests read and not yet answered: at the end of input they are still served.
struct Open {
    /// With what stops those that are served here and not by the SDK.
    ids: Mutex<HashMap<RequestId, CancellationToken>>,
    count: watch::Sender<usize>,
}

impl Open {
    fn add(&self, id: RequestId, cancel: CancellationToken) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.insert(id, cancel);
        self.count.send_replace(ids.len());
    }

    fn is_cancelled(&self, id: &RequestId) -> bool {
        !self.ids.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// Takes a request off the list; nothing if it was not on it any more.
    fn remove(&self, id: &RequestId) -> Option<CancellationToken> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = ids.remove(id);
        self.count.send_replace(ids.len());
        removed
    }
}

impl Lines {
    /// Plain threads: they block on the pipes so that no call ever does.
    fn open(counter: Counter, limit: usize, patience: Duration) -> Self {
        let ended = counter.piped.ended.clone();
        let (to_server, incoming) = mpsc::channel(AHEAD);
        let (outgoing, to_client) = mpsc::channel(AHEAD);
        let (done, written) = watch::channel(false);
        let open = Arc::new(Open { ids: Mutex::default(), count: watch::Sender::new(0) });
        let (replies, asked) = (outgoing.clone(), open.clone());
        std::thread::spawn(move || read(&mut std::io::stdin().lock(), limit, &counter, &to_server, &replies, &asked));
        std::thread::spawn(move || {
            write(to_client);
            done.send_replace(true);
        });
        Self { incoming: Arc::new(incoming.into()), outgoing, open, ended, written, patience, until: Arc::default() }
    }

    fn transport(&self) -> LineTransport {
        LineTransport(self.clone())
    }

    /// Waits until every request that was read has its answer, within reason.
    async fn answered(&self) {
        let mut open = self.open.count.subscribe();
        let _ = tokio::time::timeout_at(self.patience(), open.wait_for(|open| *open == 0)).await;
    }

    /// When waiting ends. It is set once, by whoever waits first.
    fn patience(&self) -> Instant {
        *self.until.get_or_init(|| Instant::now() + self.patience)
    }

    /// Waits until everything that was said has left.
    async fn finish(self) {
        let Self { outgoing, mut written, .. } = self;
        let _ = outgoing.send(END).await;
        let _ = tokio::time::timeout(Duration::from_secs(5), written.wait_for(|done| *done)).await;
    }
}

/// Reads lines until the end of input. A line that is no message is answered here and goes no further.
fn read(
    input: &mut impl BufRead,
    limit: usize,
    counter: &Counter,
    to_server: &mpsc::Sender<ClientJsonRpcMessage>,
    to_client: &mpsc::Sender<Vec<u8>>,
    open: &Arc<Open>,
) {
    let (mut line, mut initialized) = (Vec::new(), false);
    loop {
        let message = match next_line(input, limit, &mut line) {
            Ok(Line::End) | Err(_) => return,
            Ok(Line::TooLong) => Err(Refusal::too_long(limit)),
            Ok(Line::Whole) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(Line::Whole) => match counter.plain(initialized, &line) {
                Some(plain) => {
                    if counter.serve(plain, to_client, open) {
                        continue;
                    }
                    return;
                }
                None => parse(&line),
            },
        };
        let sent = match message {
            Ok(Some(message)) => {
                initialized |= is_initialize(&message);
                if let ClientJsonRpcMessage::Request(request) = &message {
                    open.add(request.id.clone(), CancellationToken::new());
                }
                to_server.blocking_send(message).is_ok()
            }
            Ok(None) => true,
            Err(refusal) => to_client.blocking_send(refusal.to_json().into_bytes()).is_ok(),
        };
        if !sent {
            return;
        }
    }
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Serves the plainest calls where they are read, without a detour through the SDK.
struct Counter {
    shared: Arc<Shared>,
    piped: Piped,
    runtime: Handle,
}

impl Counter {
    fn plain(&self, initialized: bool, line: &[u8]) -> Option<Plain> {
        Plain::over_stdio(&self.shared, &self.piped.origin, &self.piped.session, initialized, line)
    }

    /// Most such calls are done at the first look; one that is not goes on elsewhere. False if nobody reads any more.
    fn serve(&self, plain: Plain, to_client: &mpsc::Sender<Vec<u8>>, open: &Arc<Open>) -> bool {
        let _runtime = self.runtime.enter();
        let (shared, id, cancel) = (self.shared.clone(), plain.id().clone(), plain.cancel().clone());
        let mut call = Box::pin(async move { plain.answer(&shared).await });
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(reply) => reply.is_ok_and(|reply| to_client.blocking_send(reply).is_ok()),
            Poll::Pending => {
                let (to_client, open) = (to_client.clone(), open.clone());
                open.add(id.clone(), cancel);
                self.runtime.spawn(async move {
                    let reply = call.await;
                    // What was cancelled meanwhile is not on the list any more, and gets no answer.
                    if let (Ok(reply), false) = (reply, open.is_cancelled(&id)) {
                        let _ = to_client.send(reply).await;
                    }
                    open.remove(&id);
                });
                true
            }
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line, never holding more than `limit` bytes of it.
fn next_line(input: &mut impl BufRead, limit: usize, line: &mut Vec<u8>) -> std::io::Result<Line> {
    line.clear();
    line.shrink_to(64 * 1024);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(Line::End);
    }
    if line.last() == Some(&b'\n') || line.len() <= limit {
        return Ok(Line::Whole);
    }
    line.clear();
    skip_line(input)?;
    Ok(Line::TooLong)
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if newline.is_some() {
            return Ok(());
        }
    }
}

/// A sound message, nothing for a notification the SDK cannot read, or the reason for an error reply.
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let frame = jsonrpc::inspect(line)?;
    match (serde_json::from_slice(line), frame) {
        (Ok(message), _) => Ok(Some(message)),
        (Err(error), Frame::Request { method }) => Err(jsonrpc::malformed_params(line, &method, &error.to_string())),
        // A notification is never answered, and an answer to nothing needs none.
        (Err(_), Frame::Notification { .. } | Frame::Answer) => Ok(None),
    }
}

/// Writes what is there and flushes when nothing more is waiting.
fn write(mut messages: mpsc::Receiver<Vec<u8>>) {
    let mut output = std::io::BufWriter::with_capacity(64 * 1024, std::io::stdout().lock());
    while let Some(message) = messages.blocking_recv() {
        let mut next = Some(message);
        while let Some(message) = next {
            if message == END {
                let _ = output.flush();
                return;
            }
            if output.write_all(&message).and_then(|()| output.write_all(b"\n")).is_err() {
                return;
            }
            next = messages.try_recv().ok();
        }
        if output.flush().is_err() {
            return;
        }
    }
}

struct LineTransport(Lines);

impl Transport<RoleServer> for LineTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let (outgoing, open) = (self.0.outgoing.clone(), self.0.open.clone());
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
            };
            let sent = outgoing.send(serde_json::to_vec(&message)?).await;
            if let Some(id) = answered {
                open.remove(&id);
            }
            sent.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.0.incoming.lock().await.recv().await;
        if let Some(ClientJsonRpcMessage::Notification(cancelled)) = &message
            && let rmcp::model::ClientNotification::CancelledNotification(cancelled) = &cancelled.notification
            && let Some(id) = &cancelled.params.request_id
        {
            // A cancelled request gets no reply, so nobody needs to wait for one.
            if let Some(cancel) = self.0.open.remove(id) {
                cancel.cancel();
            }
        }
        if message.is_none() {
            // Nobody can end a subscription any more; whoever pipes requests in still wants the answers.
            self.0.ended.cancel();
            self.0.answered().await;
        }
        message
    }

    async fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
