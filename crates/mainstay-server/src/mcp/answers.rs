//! Questions in the stateless protocol: asked as a result, answered by a second call that hands our state back.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::{Answer, AnswerAction, Answers, Caller, Error, OpenQuestions, Question, Result, new_id};
use mainstay_engine::{CONSENT_KEY, Engine};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// A person may think for a while; a stolen state must not be good for long.
const LIFE: Duration = Duration::from_mins(30);

/// What is carried through the client, signed: it can be read there, but neither changed nor used for anything else.
#[derive(Serialize, Deserialize)]
struct Carried {
    /// Used once, on whichever replica the second call arrives.
    nonce: String,
    /// Answers of earlier rounds.
    given: BTreeMap<String, Value>,
    state: Value,
}

/// Seals with a key that all replicas share; it is fetched when it is first needed.
#[derive(Default)]
pub(crate) struct Sealer(OnceCell<RequestStateCodec>);

/// What the state is bound to: it is worthless to another caller and for another request.
fn binding(caller: &Caller, method: &str, target: &str, args: &Value) -> Vec<u8> {
    json!([caller.principal.as_str(), method, target, args]).to_string().into_bytes()
}

pub(crate) struct Request<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) args: &'a Value,
}

impl Request<'_> {
    fn binding(&self) -> Vec<u8> {
        binding(self.caller, self.method, self.target, self.args)
    }
}

impl Sealer {
    async fn codec(&self, engine: &Engine) -> Result<&RequestStateCodec> {
        let made = self.0.get_or_try_init(|| async {
            let key = engine.secret("request-state").await?;
            RequestStateCodec::try_new(key).map_err(Error::internal)
        });
        made.await
    }

    /// Reads the answers a second call brings. Without our state an answer is good for a tool's own question, as an
    /// argument would be, but never for a consent: that one is bound to the request it was asked for.
    pub(crate) async fn open(
        &self,
        engine: &Engine,
        request: &Request<'_>,
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Answers> {
        let responses = responses.unwrap_or_default().into_iter().filter(|(_, answer)| answer.is_object());
        let Some(state) = state else {
            let unbound = responses.filter(|(key, _)| !key.starts_with(CONSENT_KEY));
            return Ok(Answers {
                given: unbound.map(|(key, value)| (key, read_answer(value))).collect(),
                state: Value::Null,
            });
        };
        let refused = || Error::invalid("The requestState is not valid for this request; call again without it.");
        let binding = request.binding();
        let codec = self.codec(engine).await?;
        let carried: Carried = codec.open_json_with(state, &binding).map_err(|error| refused().with_detail(error))?;
        if !engine.use_once(&carried.nonce, LIFE).await? {
            return Err(Error::invalid("The requestState has been used already; call again without it."));
        }
        let given = carried.given.into_iter().chain(responses);
        Ok(Answers { given: given.map(|(key, value)| (key, read_answer(value))).collect(), state: carried.state })
    }

    /// Turns open questions into the result that asks them.
    pub(crate) async fn ask(
        &self,
        engine: &Engine,
        request: &Request<'_>,
        asked: OpenQuestions,
        before: &Answers,
    ) -> Result<InputRequiredResult> {
        let carried = Carried {
            nonce: new_id(),
            given: before.given.iter().map(|(key, answer)| (key.clone(), write_answer(answer))).collect(),
            state: if asked.state.is_null() { before.state.clone() } else { asked.state },
        };
        let binding = request.binding();
        let options = SealOptions::new().associated_data(&binding).ttl(LIFE);
        let sealed = self.codec(engine).await?.seal_json_with(&carried, &options).map_err(Error::internal)?;
        let questions = asked.questions.into_iter().map(|(key, question)| Ok((key, input_request(question)?)));
        let questions = questions.collect::<Result<InputRequests>>()?;
        Ok(InputRequiredResult::new(Some(questions).filter(|questions| !questions.is_empty()), Some(sealed)))
    }
}

/// A question as the request the client would have received in the older protocol.
pub(crate) fn input_request(question: Question) -> Result<InputRequest> {
    let wire = match question {
        Question::Form { .. } | Question::Page { .. } => {
            return Ok(InputRequest::Elicitation(ElicitRequest::new(elicitation(question)?)));
        }
        Question::Sample(params) => json!({"method": "sampling/createMessage", "params": params}),
        Question::Roots => json!({"method": "roots/list"}),
    };
    serde_json::from_value(wire).map_err(Error::internal)
}

pub(crate) fn elicitation(question: Question) -> Result<ElicitRequestParams> {
    let wire = match question {
        Question::Form { message, schema } => json!({"mode": "form", "message": message, "requestedSchema": schema}),
        Question::Page { message, url, id } => {
            json!({"mode": "url", "message": message, "url": url, "elicitationId": id})
        }
        Question::Sample(_) | Question::Roots => return Err(Error::internal("not an elicitation")),
    };
    serde_json::from_value(wire).map_err(Error::internal)
}

/// An elicitation's result says what the person did; the other results are accepted by being there.
pub(crate) fn read_answer(value: Value) -> Answer {
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

fn write_answer(answer: &Answer) -> Value {
    let action = match answer.action {
        AnswerAction::Accept => "accept",
        AnswerAction::Decline => "decline",
        AnswerAction::Cancel => "cancel",
    };
    json!({"action": action, "content": answer.value})
}
