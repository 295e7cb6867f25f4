//! One call, from any transport and in any dialect, and what a running tool can reach.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::schema::Validator;
use crate::{
    Answer, Approval, Caller, Clock, Effect, Error, Event, Kind, Level, NoSink, Note, OpenQuestions, Question, Result,
    Sink, SystemClock, new_id,
};

/// Answers that came with the call, to questions that an earlier attempt asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    pub given: BTreeMap<String, Answer>,
    /// The state the tool saved when it asked.
    pub state: Value,
}

/// Who calls and how: everything about a call but its target, which is an argument of the engine's methods.
pub struct Call {
    pub caller: Arc<Caller>,
    /// Unique for each call; it connects the log, the audit and the response.
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    /// What the client calls itself. Shown to people, never trusted.
    pub client: Option<Arc<str>>,
    pub idempotency_key: Option<String>,
    /// A schema the arguments have to satisfy besides the tool's own: a dialect may accept less than a tool does.
    pub narrowed: Option<Arc<Validator>>,
    pub policy: DialectPolicy,
    /// Answers to questions that an earlier attempt asked.
    pub answers: Answers,
    pub sink: Arc<dyn Sink>,
    pub cancel: CancellationToken,
}

impl Call {
    pub fn new(caller: Arc<Caller>) -> Self {
        Self::with_id(caller, new_id().into())
    }

    /// A call under an id that its request has already.
    pub fn with_id(caller: Arc<Caller>, request_id: Arc<str>) -> Self {
        Self {
            caller,
            request_id,
            session: None,
            client: None,
            idempotency_key: None,
            narrowed: None,
            policy: DialectPolicy::default(),
            answers: Answers::default(),
            sink: Arc::new(NoSink),
            cancel: CancellationToken::new(),
        }
    }
}

/// A number of calls in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Number of calls.
    #[schemars(range(min = 1))]
    pub calls: u32,
    /// Length of the window in seconds.
    #[serde(default = "minute")]
    #[schemars(range(min = 1))]
    pub seconds: u32,
}

fn minute() -> u32 {
    60
}

/// How the quota of a dialect is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuotaKind {
    /// Never more calls than the quota in any window of its length. A token bucket of the same quota would admit nearly
    /// twice as many in the first window.
    #[default]
    Window,
    /// A token bucket: it holds as many calls as the quota and refills evenly, a whole quota in the quota's time. Each
    /// session has its own, in the process that has its connection.
    Bucket,
}

/// The policies in which dialects differ. The engine never knows which dialect it serves: they come as data, with each
/// call. The default is that of the standard protocol: none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DialectPolicy {
    /// Key of the dialect's own quota, in the configuration and in the counters.
    pub name: &'static str,
    /// Requests of one session, or of one client where there is no session, unless the configuration has another quota
    /// for the dialect.
    pub quota: Option<Quota>,
    pub quota_kind: QuotaKind,
    /// An idempotency key that was used before answers with its first result, whatever the call is now. Otherwise a
    /// different call under the same key is a conflict.
    pub first_result_wins: bool,
    /// Requests count against the quota alone, not against the limits of their client: what it does elsewhere must not
    /// keep them out.
    pub counts_apart: bool,
    /// The longest a call may take, where that is less than the engine's own limit.
    pub deadline: Option<Duration>,
    /// The largest response in bytes; a larger one becomes an error.
    pub response_bytes: Option<usize>,
    /// The contract promises the whole output of a command. Otherwise a model reads it, and pays for each line.
    pub whole_output: bool,
}

/// What a running tool, resource or prompt can reach: its caller, the time, and the client that waits for it.
#[derive(Clone)]
pub struct Context {
    pub caller: Arc<Caller>,
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    /// What the client calls itself. Shown to people, never trusted.
    pub client: Option<Arc<str>>,
    pub cancel: CancellationToken,
    pub clock: Arc<dyn Clock>,
    pub answers: Arc<Answers>,
    /// What the call may change; for tools that plan.
    pub approval: Approval,
    /// See [`DialectPolicy::whole_output`].
    pub whole_output: bool,
    /// How many [`Hold`]s there are.
    held: Arc<AtomicUsize>,
    mark: Arc<OnceLock<&'static str>>,
    sink: Arc<dyn Sink>,
    announce: Arc<dyn Fn(Event) + Send + Sync>,
}

impl Context {
    /// Takes the answers out of the call; the policies that tools need not know stay with the pipeline.
    pub fn new(call: &mut Call, clock: Arc<dyn Clock>, announce: Arc<dyn Fn(Event) + Send + Sync>) -> Self {
        Self {
            caller: call.caller.clone(),
            request_id: call.request_id.clone(),
            session: call.session.clone(),
            client: call.client.clone(),
            // A child: the pipeline cancels it as well, when the call runs into its deadline.
            cancel: call.cancel.child_token(),
            clock,
            answers: Arc::new(std::mem::take(&mut call.answers)),
            approval: Approval::Effect(Effect::Destroys),
            whole_output: call.policy.whole_output,
            held: Arc::default(),
            mark: Arc::default(),
            sink: call.sink.clone(),
            announce,
        }
    }

    /// For tests: a local caller without a sink.
    pub fn detached() -> Self {
        let mut call = Call::new(Arc::new(Caller::local(None)));
        Self::new(&mut call, Arc::new(SystemClock), Arc::new(|_| {}))
    }

    /// Reports progress to the client, where its protocol has a message for it.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: impl Into<Option<String>>) {
        self.sink.send(Note::Progress { done, total, message: message.into() }).await;
    }

    /// Sends a log message to the client.
    pub async fn log(&self, level: Level, data: impl Into<Value>) {
        self.sink.send(Note::Log { level, logger: None, data: data.into() }).await;
    }

    /// Sends any kind of note to the client.
    pub async fn note(&self, note: Note) {
        self.sink.send(note).await;
    }

    /// Publishes an event to subscribers of lists and resources.
    pub fn announce(&self, event: Event) {
        (self.announce)(event);
    }

    /// Asks one question; see [`Context::ask_all`].
    pub async fn ask(&self, key: &str, question: Question) -> Result<Answer> {
        self.ask_all(vec![(key.to_owned(), question)], Value::Null).await?.into_iter().next().ok_or_else(lost_answer)
    }

    /// Asks all questions at once; `state` comes back in `answers.state` if the answers need a second call.
    ///
    /// The tool may be run again from its start once they are answered, so it has to ask before it changes anything.
    pub async fn ask_all(&self, questions: Vec<(String, Question)>, state: Value) -> Result<Vec<Answer>> {
        let open: Vec<_> = questions.iter().filter(|(key, _)| !self.answers.given.contains_key(key)).cloned().collect();
        let fresh =
            if open.is_empty() { Vec::new() } else { self.sink.ask(OpenQuestions { questions: open, state }).await? };
        let mut fresh = fresh.into_iter();
        questions
            .into_iter()
            .map(|(key, _)| match self.answers.given.get(&key) {
                Some(answer) => Ok(answer.clone()),
                None => fresh.next().ok_or_else(lost_answer),
            })
            .collect()
    }

    /// Marks the audit entry of the call with a word that tells it from others of its effect. The first one counts.
    pub fn mark_in_audit(&self, mark: &'static str) {
        let _ = self.mark.set(mark);
    }

    pub fn audit_mark(&self) -> Option<&'static str> {
        self.mark.get().copied()
    }

    /// For work that changes something where dropping the call's future does not stop it, as on a blocking thread: while
    /// it is held, a call that is cancelled or out of time is awaited instead of dropped, and what the work returns is
    /// the outcome. Such work has to stop soon after `cancel`; [`Kind::Cancelled`] says that it has changed nothing.
    pub fn hold(&self) -> Hold {
        self.held.fetch_add(1, Ordering::Relaxed);
        Hold(self.held.clone())
    }

    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Fails once the call is cancelled; to be called in every long loop.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
        }
        Ok(())
    }
}

/// See [`Context::hold`]. Belongs into the future that waits for the work, so that it lasts until the outcome is there.
pub struct Hold(Arc<AtomicUsize>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lost_answer() -> Error {
    Error::internal("a sink returned fewer answers than questions")
}
