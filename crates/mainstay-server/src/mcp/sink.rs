//! The way back to the client while a call runs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};

use mainstay_core::{Answer, BoxFuture, Error, Kind, Level, Note, OpenQuestions, Question, Reason, Result, Sink};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, ElicitRequest, GetExtensions, ListRootsRequest, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer, ServiceError};

use super::answers::{elicitation, read_answer};

/// Which of the two protocols a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize`, sessions, and requests from the server to the client.
    Session,
    /// 2026-07-28: every request stands alone, and questions are results.
    Stateless,
}

impl Era {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version();
        let stateless = version.is_some_and(|version| version >= rmcp::model::ProtocolVersion::V_2026_07_28);
        if stateless { Self::Stateless } else { Self::Session }
    }
}

/// Sends notes and questions through the SDK's peer.
pub(crate) struct PeerSink {
    peer: Peer<RoleServer>,
    id: RequestId,
    era: Era,
    progress: Option<ProgressToken>,
    /// The least severe level the client wants, if it wants any.
    level: Option<Level>,
    capabilities: ClientCapabilities,
}

impl PeerSink {
    pub(crate) fn new(context: &RequestContext<RoleServer>, era: Era, session_level: &AtomicU8) -> Self {
        let level = match era {
            Era::Session => Some(level_from(session_level.load(Ordering::Relaxed))),
            Era::Stateless => context.meta.log_level().map(from_wire),
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

    /// Asks on the stream of the very request: a client without a stream of its own would not hear it elsewhere.
    async fn put(&self, question: Question) -> Result<Answer> {
        let mut request = match question {
            Question::Form { .. } | Question::Page { .. } => {
                ServerRequest::ElicitRequest(ElicitRequest::new(elicitation(question)?))
            }
            Question::Sample(params) => {
                let params = serde_json::from_value(params).map_err(Error::internal)?;
                ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params))
            }
            Question::Roots => ServerRequest::ListRootsRequest(ListRootsRequest::default()),
        };
        request.extensions_mut().insert(OriginatingRequestId(self.id.clone()));
        let answer = self.peer.send_request(request).await.map_err(unanswered)?;
        let answer = serde_json::to_value(answer);
        answer.map(read_answer).map_err(Error::internal)
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
                    if self.level.is_none_or(|least| level < least) {
                        return;
                    }
                    let mut param = LoggingMessageNotificationParam::new(to_wire(level), data);
                    param.logger = logger;
                    let _ = self.peer.notify_logging_message(param).await;
                }
                // The standard has no stream of output beside progress and the reply.
                Note::Chunk { .. } => {}
            }
        })
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(async move {
            able(&self.capabilities, &asked)?;
            if self.era == Era::Stateless {
                return Err(Error::input_required(asked));
            }
            let mut answers = Vec::with_capacity(asked.questions.len());
            for (_, question) in asked.questions {
                answers.push(self.put(question).await?);
            }
            Ok(answers)
        })
    }
}

/// A client is never asked what it did not say it can answer.
pub(crate) fn able(has: &ClientCapabilities, asked: &OpenQuestions) -> Result<()> {
    let mut missing = BTreeSet::new();
    for (_, question) in &asked.questions {
        let (needed, there) = match question {
            Question::Form { .. } => {
                ("elicitation", has.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none()))
            }
            Question::Page { .. } => ("elicitation", has.elicitation.as_ref().is_some_and(|e| e.url.is_some())),
            Question::Sample(_) => ("sampling", has.sampling.is_some()),
            Question::Roots => ("roots", has.roots.is_some()),
        };
        if !there {
            missing.insert(needed.to_owned());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing.into_iter().collect();
    let line = format!("This call has a question for the client, which does not offer {}.", missing.join(", "));
    Err(Error::new(Kind::Unsupported, line).with_reason(Reason::MissingCapabilities(missing)))
}

fn unanswered(error: ServiceError) -> Error {
    Error::unavailable("The client did not answer a question this call had.").with_detail(error)
}

const LEVELS: [Level; 8] = [
    Level::Debug,
    Level::Info,
    Level::Notice,
    Level::Warning,
    Level::Error,
    Level::Critical,
    Level::Alert,
    Level::Emergency,
];

pub(crate) fn level_from(number: u8) -> Level {
    LEVELS.get(usize::from(number)).copied().unwrap_or(Level::Debug)
}

pub(crate) fn from_wire(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        LoggingLevel::Emergency => Level::Emergency,
    }
}

fn to_wire(level: Level) -> LoggingLevel {
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
