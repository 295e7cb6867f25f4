//! Questions a call has for the client: which of them it can answer, how they are sent, how its answers are read.
//!
//! The older protocol sends a question as a request to the client, 2026-07-28 returns it in a result, and a task keeps it
//! in its state. The question and the answer look the same in all three.

use std::collections::BTreeSet;

use mainstay_core::{Answer, AnswerAction, Error, Kind, OpenQuestions, Question, Reason, Result};
use rmcp::model::{ClientCapabilities, CreateMessageRequest, ElicitRequest, InputRequest, ListRootsRequest};
use serde_json::{Value, json};

/// Fails if the client did not declare the capability that a question needs: the protocol forbids sending it then.
pub(super) fn check_capabilities(has: &ClientCapabilities, open: &OpenQuestions) -> Result<()> {
    // All of them are named at once: the developer of a client then needs one attempt, not three.
    let mut missing = BTreeSet::new();
    for (_, question) in &open.questions {
        let (needed, supported) = match question {
            // A client that declares elicitation without saying which kind supports forms.
            Question::Form { .. } => {
                ("elicitation", has.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none()))
            }
            Question::Page { .. } => ("elicitation", has.elicitation.as_ref().is_some_and(|e| e.url.is_some())),
            Question::Sample(_) => ("sampling", has.sampling.is_some()),
            Question::Roots => ("roots", has.roots.is_some()),
        };
        if !supported {
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

/// A question as the request that the older protocol sends to the client; the newer one embeds the same in a result.
pub(super) fn input_request(question: Question) -> Result<InputRequest> {
    let elicitation = |params: Value| {
        let params = serde_json::from_value(params).map_err(Error::internal)?;
        Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    match question {
        Question::Form { message, schema } => {
            elicitation(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        Question::Page { message, url, id } => {
            elicitation(json!({"mode": "url", "message": message, "url": url, "elicitationId": id}))
        }
        Question::Sample(params) => {
            let params = serde_json::from_value(params).map_err(Error::internal)?;
            Ok(InputRequest::CreateMessage(CreateMessageRequest::new(params)))
        }
        Question::Roots => Ok(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

/// Reads the client's result for a question. An elicitation's result has an `action`, which says what the person did; a
/// sampled message and a list of roots have none and count as accepted.
pub(super) fn read_answer(value: Value) -> Answer {
    let action = match value.get("action").and_then(Value::as_str) {
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => AnswerAction::Accept,
    };
    let content = match value.get("action") {
        Some(_) => value.get("content").cloned().unwrap_or_default(),
        None => value,
    };
    Answer { action, value: content }
}
