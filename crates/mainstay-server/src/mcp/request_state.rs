//! The request state of 2026-07-28: a call with questions ends with them, and the client calls again with its answers
//! and the state it was given. The state is signed, so that the client can read it but neither change it nor use it for
//! another request.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_auth::consent::CONSENT_KEY;
use mainstay_core::{Answers, Caller, Error, OpenQuestions, Result, new_id};
use mainstay_engine::Engine;
use rmcp::model::{InputRequests, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::questions::{input_request, read_answer, write_answer};

/// How long a state is valid: enough for a person to think, and short enough that a stolen one is soon worthless.
const LIFE: Duration = Duration::from_mins(30);

/// The signed content.
#[derive(Serialize, Deserialize)]
struct RequestState {
    /// Makes the state usable once, on whichever replica the second call arrives.
    nonce: String,
    /// Answers of earlier rounds.
    given: BTreeMap<String, Value>,
    /// What the tool stored for its next round.
    state: Value,
}

/// Signs and verifies request states with a key that all replicas share. The key is read from the store when it is first
/// needed.
#[derive(Default)]
pub(crate) struct RequestStateSealer(OnceCell<RequestStateCodec>);

/// What a state is bound to: it is not valid for another caller or another request.
pub(super) struct StateBinding<'a> {
    pub(super) caller: &'a Caller,
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) args: &'a Value,
}

impl StateBinding<'_> {
    fn to_bytes(&self) -> Vec<u8> {
        json!([self.caller.principal.as_str(), self.method, self.target, self.args]).to_string().into_bytes()
    }
}

impl RequestStateSealer {
    async fn codec(&self, engine: &Engine) -> Result<&RequestStateCodec> {
        let created = self.0.get_or_try_init(|| async {
            let key = engine.secret("request-state").await?;
            RequestStateCodec::try_new(key).map_err(Error::internal)
        });
        created.await
    }

    /// Reads the answers of a second call. Without a state an answer is accepted for a tool's own question, where it is
    /// no more than an argument, but never for a consent: that is valid only for the request it was asked for.
    pub(super) async fn open(
        &self,
        engine: &Engine,
        binding: &StateBinding<'_>,
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
        let invalid = || Error::invalid("The requestState is not valid for this request; call again without it.");
        let codec = self.codec(engine).await?;
        let opened = codec.open_json_with(state, &binding.to_bytes());
        let opened: RequestState = opened.map_err(|error| invalid().with_detail(error))?;
        if !engine.use_once(&opened.nonce, LIFE).await? {
            return Err(Error::invalid("The requestState has been used already; call again without it."));
        }
        let given = opened.given.into_iter().chain(responses);
        Ok(Answers { given: given.map(|(key, value)| (key, read_answer(value))).collect(), state: opened.state })
    }

    /// The result that asks the client a call's questions. `before` are the answers it has given so far.
    pub(super) async fn ask(
        &self,
        engine: &Engine,
        binding: &StateBinding<'_>,
        open: OpenQuestions,
        before: &Answers,
    ) -> Result<InputRequiredResult> {
        let state = RequestState {
            nonce: new_id(),
            given: before.given.iter().map(|(key, answer)| (key.clone(), write_answer(answer))).collect(),
            state: if open.state.is_null() { before.state.clone() } else { open.state },
        };
        let binding = binding.to_bytes();
        let options = SealOptions::new().associated_data(&binding).ttl(LIFE);
        let sealed = self.codec(engine).await?.seal_json_with(&state, &options).map_err(Error::internal)?;
        let questions = open.questions.into_iter().map(|(key, question)| Ok((key, input_request(question)?)));
        let questions = questions.collect::<Result<InputRequests>>()?;
        Ok(InputRequiredResult::new(Some(questions).filter(|questions| !questions.is_empty()), Some(sealed)))
    }
}
