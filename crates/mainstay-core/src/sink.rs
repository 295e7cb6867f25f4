//! What a call sends on its way, and what it asks.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::error::{Error, Kind, Result};
use crate::question::{Answer, OpenQuestions};

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

/// Where a call's notes and questions go. Each transport encodes them in its own way, or has none.
pub trait Sink: Send + Sync + 'static {
    /// Never fails: a reader that has gone away is found out when the reply is written.
    fn send(&self, note: Note) -> BoxFuture<'_, ()>;

    /// Either waits for the answers, in the order asked, or fails with [`Kind::InputRequired`] when they can only
    /// come with a second call.
    fn ask(&self, open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>>;
}

/// A caller that hears nothing and answers nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Sink for Quiet {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, _open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        let refusal =
            Error::new(Kind::Unsupported, "This call has a question for a person, and this client cannot be asked.");
        Box::pin(std::future::ready(Err(refusal)))
    }
}
