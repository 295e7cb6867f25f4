//! Questions a running call puts to the person or to the client, and their answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question. Each transport encodes it in its own way, or cannot ask at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Fill in a form described by a flat JSON Schema.
    Form { message: String, schema: Value },
    /// Open a page and come back.
    Page { message: String, url: String, id: String },
    /// Let the client's model answer; the value is the request as the client expects it.
    Sample(Value),
    /// Which directories the client works in.
    Roots,
}

/// What the person did with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerAction {
    Accept,
    Decline,
    Cancel,
}

/// Serializable, because answers of earlier rounds travel with the client in a signed state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub action: AnswerAction,
    /// For a form the values; for a sample and for roots the client's whole result; for a page nothing.
    pub value: Value,
}

impl Answer {
    pub fn accepted(value: Value) -> Self {
        Self { action: AnswerAction::Accept, value }
    }
}

/// Questions that were asked and not answered yet; the answers come when the call is made again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenQuestions {
    /// Each under a key of the tool's choice, by which it finds the answer again.
    pub questions: Vec<(String, Question)>,
    /// State the tool gets back together with the answers.
    pub state: Value,
}
