//! Sends a running call's progress, log messages and questions to the client, through the SDK's peer.

use mainstay_core::{Answer, BoxFuture, Error, Level, Note, OpenQuestions, Question, Result, Sink};
use rmcp::model::{
    ClientCapabilities, GetExtensions, InputRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer, ServiceError};

use super::questions::{check_capabilities, input_request, read_answer};
use super::request::Era;

/// The sink of one request. A notification that cannot be delivered is dropped: the call goes on, and the transport finds
/// out about a lost client when it writes the reply.
pub(super) struct PeerSink {
    peer: Peer<RoleServer>,
    /// The request on whose stream questions are sent.
    id: RequestId,
    era: Era,
    /// Present if the client wants progress: the protocol sends none without a token.
    progress: Option<ProgressToken>,
    /// The least severe level the client wants; `None` if it wants no log messages at all.
    level: Option<LoggingLevel>,
    /// What the client can be asked; anything else is an error of the call, not a message to the client.
    capabilities: ClientCapabilities,
}

impl PeerSink {
    /// `session_level` is what the client set with `logging/setLevel`, which only the older protocol has.
    pub(super) fn new(context: &RequestContext<RoleServer>, era: Era, session_level: LoggingLevel) -> Self {
        let level = match era {
            Era::Session => Some(session_level),
            Era::Stateless => context.meta.log_level(),
        };
        Self {
            peer: context.peer.clone(),
            id: context.id.clone(),
            era,
            progress: context.meta.get_progress_token(),
            level,
            capabilities: context.client_capabilities().unwrap_or_default(),
        }
    }

    /// Sends a question on the response stream of its own request: a client that opened no other stream would not
    /// receive it anywhere else.
    async fn ask_one(&self, question: Question) -> Result<Answer> {
        let mut request = match input_request(question)? {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            // The SDK may add kinds; `input_request` makes no others.
            _ => return Err(Error::internal("a kind of question that is not known")),
        };
        request.extensions_mut().insert(OriginatingRequestId(self.id.clone()));
        let answer = self.peer.send_request(request).await.map_err(unanswered)?;
        serde_json::to_value(answer).map(read_answer).map_err(Error::internal)
    }
}

impl Sink for PeerSink {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match note {
                Note::Progress { done, total, message } => {
                    let Some(token) = self.progress.clone() else { return };
                    let mut param = ProgressNotificationParam::new(token, done);
                    param.total = total;
                    param.message = message;
                    let _ = self.peer.notify_progress(param).await;
                }
                Note::Log { level, logger, data } => {
                    let level = logging_level(level);
                    // The protocol lists its levels from the least to the most severe, and so does the enum.
                    if self.level.is_none_or(|least| (level as u8) < least as u8) {
                        return;
                    }
                    let mut param = LoggingMessageNotificationParam::new(level, data);
                    param.logger = logger;
                    let _ = self.peer.notify_logging_message(param).await;
                }
                // The standard protocol has no message for partial output.
                Note::Chunk { .. } => {}
            }
        })
    }

    fn ask(&self, open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(async move {
            check_capabilities(&self.capabilities, &open)?;
            // The newer protocol has no requests to the client: the call ends here, and its questions are the result.
            if self.era == Era::Stateless {
                return Err(Error::input_required(open));
            }
            let mut answers = Vec::with_capacity(open.questions.len());
            // One after the other, because most clients show one dialog at a time.
            for (_, question) in open.questions {
                answers.push(self.ask_one(question).await?);
            }
            Ok(answers)
        })
    }
}

/// The client left, refused the request, or does not know it.
fn unanswered(error: ServiceError) -> Error {
    Error::unavailable("The client did not answer a question this call had.").with_detail(error)
}

/// The protocol has the eight levels of RFC 5424, and so have we.
fn logging_level(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}
