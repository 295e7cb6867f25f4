//! The standard protocol over standard input and output: the SDK's transport over lines, the fast path for plain calls,
//! and how the server ends. Requests that were read are still answered after the end of input, because a script that
//! pipes requests in wants the replies.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainstay_core::{CancellationToken, new_id, recorded};
use mainstay_engine::Engine;
use mainstay_wire::jsonrpc::{self, Frame, Refusal};
use mainstay_wire::to_json;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::lines::{CANCEL_GRACE, Output, QUEUE_LENGTH, each_line};
use crate::connection::Connection;
use crate::mcp::{Handler, PlainCall, Shared, StdioClient};
use crate::memory_limit::{Counted, MemoryShare};
use crate::{About, ServerSettings, StartError};

pub(super) async fn serve(
    engine: &Engine,
    about: &About,
    settings: &ServerSettings,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let shared = Arc::new(Shared::new(engine.clone(), about));
    let output = Output::open(QUEUE_LENGTH, settings.unsent_bytes, None)?;
    let pending = Arc::<PendingRequests>::default();
    let (lines, requests) = (output.clone(), pending.clone());
    let reserve = move |id: &RequestId, length| match lines.reserve(length) {
        Ok(share) => {
            requests.set_response(id, share);
            Ok(())
        }
        Err(not_kept) => Err(not_kept.message()),
    };
    let client = StdioClient {
        connection: Connection::local(engine),
        session: new_id().into(),
        ended: CancellationToken::new(),
        reserve: Arc::new(reserve),
    };
    let fast_path = FastPath { shared: shared.clone(), client: client.clone(), runtime: Handle::current() };
    let patience = Duration::from_secs(engine.settings().drain_seconds);
    let transport = LineTransport::open(fast_path, settings.message_bytes, patience, output, pending);
    let mut abandoned = std::pin::pin!(transport.output.abandoned(patience));
    loop {
        // A new one for each attempt: the SDK consumes the handler even if the handshake fails.
        let handler = Handler::over_stdio(shared.clone(), client.clone());
        // Boxed: the future of the SDK's handshake alone is 16 KiB.
        let served = tokio::select! {
            served = Box::pin(serve_server(handler, transport.clone())) => served,
            () = stop.cancelled() => break,
            () = &mut abandoned => break,
        };
        match served {
            Ok(running) => {
                let ct = running.cancellation_token();
                let mut serving = std::pin::pin!(running.waiting());
                tokio::select! {
                    _ = &mut serving => break,
                    () = &mut abandoned => transport.pending.cancel_all(),
                    () = stop.cancelled() => {
                        // Running calls get the drain time to finish, and their replies are written.
                        transport.deadline();
                        client.ended.cancel();
                        engine.drain().await;
                        transport.all_answered().await;
                    }
                }
                ct.cancel();
                // The remaining replies may have no reader, so this wait has a limit.
                let _ = timeout(CANCEL_GRACE, serving).await;
                break;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => break,
            // The first request was not a valid handshake. The client has its error response and may try again.
            // The error is not logged: it repeats the whole message, which may have secrets in its arguments.
            Err(_) => tracing::debug!("a handshake failed: the first message was no valid request"),
        }
    }
    transport.output.clone().finish().await;
    Ok(())
}

/// Requests that were read and not yet answered. In a watch channel, because the end waits until there are none.
#[derive(Default)]
struct PendingRequests(watch::Sender<HashMap<RequestId, PendingRequest>>);

struct PendingRequest {
    /// Cancels it if it runs on the fast path; the SDK cancels its own.
    cancel: CancellationToken,
    /// The memory of its response while the SDK has it. Here, because the SDK drops the response to a cancelled request.
    response: Option<MemoryShare>,
}

impl PendingRequests {
    /// A second request with the same id replaces the first; the protocol forbids it.
    fn add(&self, id: RequestId, cancel: CancellationToken) {
        self.0.send_modify(|ids| _ = ids.insert(id, PendingRequest { cancel, response: None }));
    }

    /// The request has a response, which is not sent yet.
    fn set_response(&self, id: &RequestId, share: MemoryShare) {
        self.0.send_if_modified(|ids| {
            if let Some(request) = ids.get_mut(id) {
                request.response = Some(share);
            }
            // Nobody waits for this.
            false
        });
    }

    /// The memory that was reserved for a response.
    fn take_response(&self, id: &RequestId) -> Option<MemoryShare> {
        let mut share = None;
        self.0.send_if_modified(|ids| {
            share = ids.get_mut(id).and_then(|request| request.response.take());
            false
        });
        share
    }

    /// Cancels the calls on the fast path when nobody reads the output any more.
    fn cancel_all(&self) {
        self.0.borrow().values().for_each(|request| request.cancel.cancel());
    }

    /// Removes a request; `None` if it was answered or cancelled before.
    fn remove(&self, id: &RequestId) -> Option<CancellationToken> {
        let mut removed = None;
        self.0.send_modify(|ids| removed = ids.remove(id));
        removed.map(|request| request.cancel)
    }
}

/// The SDK's transport over standard input and output. Clones share the same two streams.
#[derive(Clone)]
struct LineTransport {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<ClientJsonRpcMessage>>>,
    output: Output,
    pending: Arc<PendingRequests>,
    ended: CancellationToken,
    /// How long replies are waited for after the end of input.
    patience: Duration,
    /// Set once, by the end of input or by the signal to stop, whichever comes first.
    deadline: Arc<OnceLock<Instant>>,
}

impl LineTransport {
    /// Starts a thread that reads standard input, which has no asynchronous read.
    fn open(
        fast_path: FastPath,
        limit: usize,
        patience: Duration,
        output: Output,
        pending: Arc<PendingRequests>,
    ) -> Self {
        let ended = fast_path.client.ended.clone();
        let (to_server, incoming) = mpsc::channel(QUEUE_LENGTH);
        let (replies, requests) = (output.clone(), pending.clone());
        std::thread::spawn(move || read(limit, &fast_path, &to_server, &replies, &requests));
        Self { incoming: Arc::new(incoming.into()), output, pending, ended, patience, deadline: Arc::default() }
    }

    /// Waits until every request that was read has its response, or the deadline has passed.
    async fn all_answered(&self) {
        let mut pending = self.pending.0.subscribe();
        let _ = timeout_at(self.deadline(), pending.wait_for(HashMap::is_empty)).await;
    }

    /// When waiting for responses ends: the patience, counted from the first call of this function.
    fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| Instant::now() + self.patience)
    }
}

/// Reads lines until the end of input. A line that is not a JSON-RPC message is answered with an error here.
fn read(
    limit: usize,
    fast_path: &FastPath,
    to_server: &mpsc::Sender<ClientJsonRpcMessage>,
    output: &Output,
    pending: &Arc<PendingRequests>,
) {
    let FastPath { shared, client, .. } = fast_path;
    // Whether a request without a version may be a plain call of the older protocol.
    let mut initialized = false;
    each_line(std::io::stdin().lock(), limit, |line| {
        // A client that does not read its responses has to wait with its requests.
        output.wait_for_room(&fast_path.runtime);
        if let Ok(line) = &line
            && let Some(call) = PlainCall::over_stdio(shared, client, initialized, line)
        {
            return fast_path.run(call, output, pending);
        }
        match line.map_err(|long| Refusal::too_long(long.limit)).and_then(parse) {
            Ok(Some(message)) => {
                initialized |= is_initialize(&message);
                if let ClientJsonRpcMessage::Request(request) = &message {
                    pending.add(request.id.clone(), CancellationToken::new());
                }
                to_server.blocking_send(message).is_ok()
            }
            Ok(None) => true,
            Err(refusal) => output.write_line(refusal.to_json().into_bytes()),
        }
    });
}

/// Whether the client starts the handshake of the older protocol.
fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Runs plain calls on the thread that reads them, without the SDK (see `mcp/fast_path.rs`).
struct FastPath {
    shared: Arc<Shared>,
    client: StdioClient,
    runtime: Handle,
}

impl FastPath {
    /// Polls the call once: most plain calls finish then, and their reply is written from this thread. A call that has to
    /// wait goes on in the runtime, so that it does not hold up the next line. False if nobody reads the output any more.
    fn run(&self, call: PlainCall, output: &Output, pending: &Arc<PendingRequests>) -> bool {
        // The call may start timers and tasks, which need a runtime that this thread does not belong to.
        let _runtime = self.runtime.enter();
        let (shared, id, cancel) = (self.shared.clone(), call.id.clone(), call.call.cancel.clone());
        let mut running = Box::pin(async move { call.run(&shared).await });
        // The waker does nothing: if the call has to wait, the runtime polls it again with its own.
        match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(_)) => false,
            Poll::Ready(Ok(reply)) => output.write_directly(reply).unwrap_or_else(|reply| {
                response_line(output, reply, &id).is_ok_and(|line| output.lines.blocking_send(line).is_ok())
            }),
            Poll::Pending => {
                let (output, pending) = (output.clone(), pending.clone());
                pending.add(id.clone(), cancel);
                self.runtime.spawn(async move {
                    let reply = running.await;
                    // A request that was cancelled has been removed, and gets no response.
                    if let Ok(reply) = reply
                        && pending.0.borrow().contains_key(&id)
                        && let Ok(line) = response_line(&output, reply, &id)
                    {
                        let _ = output.lines.send(line).await;
                    }
                    pending.remove(&id);
                });
                true
            }
        }
    }
}

/// The line of a response, or of an error under its id if there is no memory for it.
fn response_line(output: &Output, response: Vec<u8>, id: &RequestId) -> std::io::Result<Counted<Vec<u8>>> {
    output.count(response).or_else(|not_kept| {
        let error = ErrorData::internal_error(not_kept.message(), None);
        to_json(&ServerJsonRpcMessage::error(error, Some(id.clone()))).map(Into::into)
    })
}

/// A valid message, `None` for a notification that the SDK cannot read, or the error to answer with.
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let frame = jsonrpc::inspect(line)?;
    match (serde_json::from_slice(line), frame) {
        (Ok(message), _) => Ok(Some(message)),
        (Err(_), Frame::Request { method }) => {
            // The error may repeat values.
            tracing::debug!(method = recorded(&method), "params that cannot be read");
            Err(jsonrpc::malformed_params(line, &method))
        }
        // JSON-RPC 2.0 does not answer notifications, nor responses.
        (Err(_), Frame::Notification { .. } | Frame::Answer) => Ok(None),
    }
}

/// Clones are handed to the SDK once for each attempt of a handshake.
impl Transport<RoleServer> for LineTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let (output, pending) = (self.output.clone(), self.pending.clone());
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
            };
            // First queued, then removed: the end must not come while a response is on its way to the queue.
            let line = to_json(&message)?;
            // The response itself goes: its memory is that of the line from here on.
            drop(message);
            let line = match &answered {
                Some(id) => match pending.take_response(id) {
                    Some(share) => Counted::new(line, share),
                    None => response_line(&output, line, id)?,
                },
                None => output.count(line).map_err(|not_kept| std::io::Error::other(not_kept.message()))?,
            };
            let sent = output.lines.send(line).await;
            if let Some(id) = answered {
                pending.remove(&id);
            }
            sent.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.output.room().await;
        let message = self.incoming.lock().await.recv().await;
        if let Some(ClientJsonRpcMessage::Notification(cancelled)) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &cancelled.notification
            && let Some(id) = &cancelled.params.request_id
            // A cancelled request gets no response, so the end of input must not wait for one.
            && let Some(cancel) = self.pending.remove(id)
        {
            cancel.cancel();
        }
        if message.is_none() {
            // Subscriptions end with the input: the client cannot cancel them any more.
            self.ended.cancel();
            self.all_answered().await;
        }
        message
    }

    /// Nothing to close: the two streams belong to the process.
    async fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
