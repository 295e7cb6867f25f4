//! What a running call sends to its client before the reply.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{Answer, Error, Kind, OpenQuestions, Result};

/// Severity of a log message, as in syslog (RFC 5424) and in the standard protocol.
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

/// Something a running call reports before the reply.
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
    /// A part of the output of a command, while it runs.
    Chunk {
        stream: &'static str,
        text: String,
    },
}

/// Where the notes and questions of a call go. Each transport encodes them in its own way, or drops them; the tool
/// cannot tell.
pub trait Sink: Send + Sync + 'static {
    /// Never fails: that the client has gone is noticed when the reply is written.
    fn send(&self, note: Note) -> BoxFuture<'_, ()>;

    /// Either waits for the answers, in the order asked, or fails with [`Kind::InputRequired`] when they can only
    /// come with a second call.
    fn ask(&self, open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>>;
}

/// Discards notes and cannot ask: for clients whose protocol has no messages during a call.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

impl Sink for NoSink {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, _open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        let refusal =
            Error::new(Kind::Unsupported, "This call has a question for a person, and this client cannot be asked.");
        Box::pin(std::future::ready(Err(refusal)))
    }
}
