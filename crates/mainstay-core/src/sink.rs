//! What a call sends on its way, and what it asks.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::error::{Asked, Error, Kind, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Something a running call tells its caller before the reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    Progress {
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    Log {
        level: Level,
        logger: Option<String>,
        data: Value,
    },
    /// A piece of output as it appears.
    Chunk {
        stream: &'static str,
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Fill in a form described by a flat JSON Schema.
    Form { message: String, schema: Value },
    /// Go to a page and come back.
    Page { message: String, url: String, id: String },
    /// Let the client's model answer; the value is the request as the client expects it.
    Sample(Value),
    /// Which directories the client works in.
    Roots,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerAction {
    Accept,
    Decline,
    Cancel,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub action: AnswerAction,
    /// For a form what was filled in; for a sample and for roots the client's whole result; for a page nothing.
    pub value: Value,
}

impl Answer {
    pub fn accepted(value: Value) -> Self {
        Self { action: AnswerAction::Accept, value }
    }
}

/// Where a call's notes and questions go. Each transport encodes them in its own way, or has none.
pub trait Sink: Send + Sync + 'static {
    /// Never fails: a reader that has gone away is found out when the reply is written.
    fn send(&self, note: Note) -> BoxFuture<'_, ()>;

    /// Either waits for the answers, in the order asked, or fails with [`Kind::InputRequired`] when they can only
    /// come with a second call.
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Vec<Answer>>>;
}

/// A caller that hears nothing and answers nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Sink for Quiet {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, _asked: Asked) -> BoxFuture<'_, Result<Vec<Answer>>> {
        let refusal =
            Error::new(Kind::Unsupported, "This call has a question for a person, and this client cannot be asked.");
        Box::pin(std::future::ready(Err(refusal)))
    }
}
