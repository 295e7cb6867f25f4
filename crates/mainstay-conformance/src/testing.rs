//! A client that answers from a script, for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mainstay_core::{
    Answer, BoxFuture, Call, Caller, Context, Error, Event, Kind, Note, OpenQuestions, Question, Reason, Result, Sink,
    SystemClock,
};
use serde_json::Value;

/// Answers the questions it has answers to, and leaves every other one for a second call, as a stateless client does.
#[derive(Clone, Default)]
pub(crate) struct ScriptedClient {
    answers: BTreeMap<String, Value>,
    given: BTreeMap<String, Value>,
    state: Value,
    missing: Vec<&'static str>,
    received: Arc<Received>,
}

#[derive(Default)]
struct Received {
    notes: Mutex<Vec<Note>>,
    events: Mutex<Vec<Event>>,
}

impl ScriptedClient {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Answers while the call waits.
    pub(crate) fn answers(mut self, key: &str, value: Value) -> Self {
        self.answers.insert(key.into(), value);
        self
    }

    /// Brings the answer with the call.
    pub(crate) fn given(mut self, key: &str, value: Value) -> Self {
        self.given.insert(key.into(), value);
        self
    }

    pub(crate) fn state(mut self, state: Value) -> Self {
        self.state = state;
        self
    }

    /// Does not have this capability.
    pub(crate) fn without(mut self, capability: &'static str) -> Self {
        self.missing.push(capability);
        self
    }

    pub(crate) fn context(&self) -> Context {
        let mut call = Call::new(Arc::new(Caller::local(None)));
        call.sink = Arc::new(self.clone());
        let given = self.given.iter().map(|(key, value)| (key.clone(), Answer::accepted(value.clone())));
        call.answers.given = given.collect();
        call.answers.state = self.state.clone();
        let received = self.received.clone();
        let announce = move |event| received.events.lock().unwrap().push(event);
        Context::new(&mut call, Arc::new(SystemClock), Arc::new(announce))
    }

    pub(crate) fn notes(&self) -> Vec<Note> {
        self.received.notes.lock().unwrap().clone()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.received.events.lock().unwrap().clone()
    }

    fn reply(&self, asked: OpenQuestions) -> Result<Vec<Answer>> {
        for (_, question) in &asked.questions {
            let needed = match question {
                Question::Form { .. } | Question::Page { .. } => "elicitation",
                Question::Sample(_) => "sampling",
                Question::Roots => "roots",
            };
            if self.missing.contains(&needed) {
                return Err(Error::new(Kind::Unsupported, format!("This client has no {needed}."))
                    .with_reason(Reason::MissingCapabilities(vec![needed.to_owned()])));
            }
        }
        let found: Option<Vec<Answer>> =
            asked.questions.iter().map(|(key, _)| self.answers.get(key).cloned().map(Answer::accepted)).collect();
        found.ok_or_else(|| Error::input_required(asked))
    }
}

impl Sink for ScriptedClient {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        self.received.notes.lock().unwrap().push(note);
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(std::future::ready(self.reply(asked)))
    }
}
