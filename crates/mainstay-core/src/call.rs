//! One call, from any transport, and what a running tool can reach.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Kind, Result};
use crate::question::OpenQuestions;
use crate::schema::Validator;
use crate::{
    Answer, Caller, Clock, Contents, Event, Level, Note, PromptReply, Question, Quiet, Reply, Sink, SystemClock, new_id,
};

/// What is called.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    Tool { name: String, args: Value },
    Resource { uri: String },
    Prompt { name: String, args: BTreeMap<String, String> },
}

impl Target {
    /// The standard's method for it.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tools/call",
            Self::Resource { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
        }
    }

    /// The name under which the call is counted and recorded.
    pub fn label(&self) -> &str {
        match self {
            Self::Tool { name, .. } | Self::Prompt { name, .. } => name,
            Self::Resource { uri } => uri,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Reply(Reply),
    Contents(Vec<Contents>),
    Prompt(PromptReply),
}

/// Answers that came with the call, to questions an earlier attempt asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    pub given: BTreeMap<String, Answer>,
    /// What the tool left for itself when it asked.
    pub state: Value,
}

pub struct Call {
    pub target: Target,
    /// A schema the arguments have to fit besides the target's own: a dialect may take less than a tool does.
    pub narrowed: Option<Arc<Validator>>,
    pub caller: Arc<Caller>,
    /// Unique for each call; in the log, the audit and the metrics' exemplars.
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    pub idempotency_key: Option<String>,
    /// A key that has been used answers with its first result, whatever it is used for now. Otherwise another call under
    /// the same key is refused.
    pub first_result_wins: bool,
    /// The dialect the call was made in, where that has limits of its own.
    pub dialect: Option<&'static str>,
    /// The caller's wish; the road takes the shorter of this and its own limit.
    pub deadline: Option<Duration>,
    pub answers: Answers,
    pub sink: Arc<dyn Sink>,
    pub cancel: CancellationToken,
}

impl Call {
    pub fn new(target: Target, caller: Arc<Caller>) -> Self {
        Self {
            target,
            narrowed: None,
            caller,
            request_id: new_id().into(),
            session: None,
            idempotency_key: None,
            first_result_wins: false,
            dialect: None,
            deadline: None,
            answers: Answers::default(),
            sink: Arc::new(Quiet),
            cancel: CancellationToken::new(),
        }
    }

    pub fn tool(name: impl Into<String>, args: Value, caller: Arc<Caller>) -> Self {
        Self::new(Target::Tool { name: name.into(), args }, caller)
    }
}

/// What a running tool, resource or prompt can reach: its caller, the time, and the way back.
#[derive(Clone)]
pub struct Context {
    pub caller: Arc<Caller>,
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    pub cancel: CancellationToken,
    pub clock: Arc<dyn Clock>,
    pub answers: Arc<Answers>,
    sink: Arc<dyn Sink>,
    announce: Arc<dyn Fn(Event) + Send + Sync>,
}

impl Context {
    /// Takes the call's answers; the target and the policy's fields stay with the road.
    pub fn new(call: &mut Call, clock: Arc<dyn Clock>, announce: Arc<dyn Fn(Event) + Send + Sync>) -> Self {
        Self {
            caller: call.caller.clone(),
            request_id: call.request_id.clone(),
            session: call.session.clone(),
            // One of its own: the road cancels it too, when the call is cut off.
            cancel: call.cancel.child_token(),
            clock,
            answers: Arc::new(std::mem::take(&mut call.answers)),
            sink: call.sink.clone(),
            announce,
        }
    }

    /// For tests: a local caller who hears nothing.
    pub fn detached() -> Self {
        let mut call = Call::tool("detached", Value::Null, Arc::new(Caller::local(None)));
        Self::new(&mut call, Arc::new(SystemClock), Arc::new(|_| {}))
    }

    pub async fn progress(&self, done: f64, total: Option<f64>, message: impl Into<Option<String>>) {
        self.sink.send(Note::Progress { done, total, message: message.into() }).await;
    }

    pub async fn log(&self, level: Level, data: impl Into<Value>) {
        self.sink.send(Note::Log { level, logger: None, data: data.into() }).await;
    }

    pub async fn note(&self, note: Note) {
        self.sink.send(note).await;
    }

    /// Tells those who listen to lists and resources.
    pub fn announce(&self, event: Event) {
        (self.announce)(event);
    }

    pub async fn ask(&self, key: &str, question: Question) -> Result<Answer> {
        self.ask_all(vec![(key.to_owned(), question)], Value::Null).await?.into_iter().next().ok_or_else(lost_answer)
    }

    /// Asks everything at once; `state` comes back in `answers.state` if the answers need a second call.
    ///
    /// A tool that asks may be run again from its start, so it asks before it changes anything.
    pub async fn ask_all(&self, questions: Vec<(String, Question)>, state: Value) -> Result<Vec<Answer>> {
        let open: Vec<_> = questions.iter().filter(|(key, _)| !self.answers.given.contains_key(key)).cloned().collect();
        let mut fresh =
            if open.is_empty() { Vec::new() } else { self.sink.ask(OpenQuestions { questions: open, state }).await? }
                .into_iter();
        questions
            .into_iter()
            .map(|(key, _)| match self.answers.given.get(&key) {
                Some(answer) => Ok(answer.clone()),
                None => fresh.next().ok_or_else(lost_answer),
            })
            .collect()
    }

    /// Stops a long loop when the caller has gone.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
        }
        Ok(())
    }
}

fn lost_answer() -> Error {
    Error::internal("a sink gave fewer answers than it was asked")
}
