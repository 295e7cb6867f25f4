//! The standard protocol over standard input and output.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainstay_core::{CancellationToken, new_id};
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::{self, Frame, Refusal};
use mainstay_wire::to_json;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::lines::{AHEAD, CUT_OFF, Output, each_line};
use crate::connection::Connection;
use crate::mcp::{Handler, Piped, Plain, Shared};
use crate::{About, StartError};

/// Serves whoever started this process, until the end of input or until `stop`.
pub(super) async fn serve(
    engine: &Engine,
    about: &About,
    message_bytes: usize,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let shared = Arc::new(Shared::new(engine.clone(), about));
    let piped =
        Piped { connection: Connection::local(engine), session: new_id().into(), ended: CancellationToken::new() };
    let counter = Counter { shared: shared.clone(), piped: piped.clone(), runtime: Handle::current() };
    let lines = Lines::open(counter, message_bytes, Duration::from_secs(engine.settings().drain_seconds))?;
    let mut abandoned = std::pin::pin!(lines.output.abandoned(lines.patience));
    loop {
        let handler = Handler::over_stdio(shared.clone(), piped.clone());
        let served = tokio::select! {
            served = serve_server(handler, lines.transport()) => served,
            () = stop.cancelled() => break,
            () = &mut abandoned => break,
        };
        match served {
            Ok(running) => {
                let ct = running.cancellation_token();
                let mut serving = std::pin::pin!(running.waiting());
                tokio::select! {
                    _ = &mut serving => break,
                    () = &mut abandoned => lines.open.cancel_all(),
                    () = stop.cancelled() => {
                        // What runs is given its time, and what it says is written.
                        lines.until();
                        piped.ended.cancel();
                        engine.drain().await;
                        lines.answered().await;
                    }
                }
                ct.cancel();
                // There may be nobody for the answers that are left.
                let _ = tokio::time::timeout(CUT_OFF, serving).await;
                break;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => break,
            // The opening was not one; the client has been told why and may try again.
            Err(error) => tracing::debug!(%error, "a handshake failed"),
        }
    }
    lines.output.clone().finish().await;
    Ok(())
}

/// The two pipes, and which requests are still to be answered.
#[derive(Clone)]
struct Lines {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<ClientJsonRpcMessage>>>,
    output: Output,
    open: Arc<Open>,
    ended: CancellationToken,
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

    fn cancel_all(&self) {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.values().for_each(CancellationToken::cancel);
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
    /// Reading, too, has a thread of its own.
    fn open(counter: Counter, limit: usize, patience: Duration) -> Result<Self, StartError> {
        let ended = counter.piped.ended.clone();
        let (to_server, incoming) = mpsc::channel(AHEAD);
        let output = Output::open()?;
        let open = Arc::new(Open { ids: Mutex::default(), count: watch::Sender::new(0) });
        let (replies, asked) = (output.clone(), open.clone());
        std::thread::spawn(move || read(limit, &counter, &to_server, &replies, &asked));
        Ok(Self { incoming: Arc::new(incoming.into()), output, open, ended, patience, until: Arc::default() })
    }

    fn transport(&self) -> LineTransport {
        LineTransport(self.clone())
    }

    /// Waits until every request that was read has its answer, within reason.
    async fn answered(&self) {
        let mut open = self.open.count.subscribe();
        let _ = tokio::time::timeout_at(self.until(), open.wait_for(|open| *open == 0)).await;
    }

    /// When waiting ends. It is set once, by whoever waits first.
    fn until(&self) -> Instant {
        *self.until.get_or_init(|| Instant::now() + self.patience)
    }
}

/// Reads lines until the end of input. A line that is no message is answered here and goes no further.
fn read(
    limit: usize,
    counter: &Counter,
    to_server: &mpsc::Sender<ClientJsonRpcMessage>,
    to_client: &Output,
    open: &Arc<Open>,
) {
    let mut initialized = false;
    each_line(std::io::stdin().lock(), limit, |line| {
        let line = line.whole();
        if let Ok(line) = &line
            && let Some(plain) = counter.plain(initialized, line)
        {
            return counter.serve(plain, to_client, open);
        }
        match line.and_then(parse) {
            Ok(Some(message)) => {
                initialized |= is_initialize(&message);
                if let ClientJsonRpcMessage::Request(request) = &message {
                    open.add(request.id.clone(), CancellationToken::new());
                }
                to_server.blocking_send(message).is_ok()
            }
            Ok(None) => true,
            Err(refusal) => to_client.say(refusal.to_json().into_bytes()),
        }
    });
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
        Plain::over_stdio(&self.shared, &self.piped.connection, &self.piped.session, initialized, line)
    }

    /// Most such calls are done at the first look; one that is not goes on elsewhere. False if nobody reads any more.
    fn serve(&self, plain: Plain, to_client: &Output, open: &Arc<Open>) -> bool {
        let _runtime = self.runtime.enter();
        let (shared, id, cancel) = (self.shared.clone(), plain.id().clone(), plain.cancel().clone());
        let mut call = Box::pin(async move { plain.answer(&shared).await });
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(reply) => reply.is_ok_and(|reply| to_client.say(reply)),
            Poll::Pending => {
                let (to_client, open) = (to_client.lines().clone(), open.clone());
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

/// A sound message, nothing for a notification the SDK cannot read, or the reason for an error reply.
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let frame = jsonrpc::inspect(line)?;
    match (serde_json::from_slice(line), frame) {
        (Ok(message), _) => Ok(Some(message)),
        (Err(error), Frame::Request { method }) => {
            tracing::debug!(%error, %method, "params that cannot be read");
            Err(jsonrpc::malformed_params(line, &method))
        }
        // A notification is never answered, and an answer to nothing needs none.
        (Err(_), Frame::Notification { .. } | Frame::Answer) => Ok(None),
    }
}

struct LineTransport(Lines);

impl Transport<RoleServer> for LineTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let (outgoing, open) = (self.0.output.lines().clone(), self.0.open.clone());
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
            };
            let sent = outgoing.send(to_json(&message)?).await;
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
