//! The request state of 2026-07-28: a call with questions ends with them, and the client calls again with its answers
//! and the state it was given. The state is signed, so that the client can read it but neither change it nor use it for
//! another request.

use std::time::Duration;

use mainstay_auth::consent::CONSENT_KEY;
use mainstay_core::{Answers, Error, OpenQuestions, Result, new_id};
use mainstay_engine::Engine;
use rmcp::model::{InputRequests, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::questions::{input_request, read_answer};

/// How long a state is valid: enough for a person to think, and short enough that a stolen one is soon worthless.
const LIFE: Duration = Duration::from_mins(30);

/// The signed content.
#[derive(Serialize, Deserialize)]
struct RequestState {
    /// Makes the state usable once, on whichever replica the second call arrives.
    nonce: String,
    /// The answers of earlier rounds, and what the tool stored for its next one.
    answers: Answers,
}

/// Signs and verifies request states with a key that all replicas share. The key is read from the store when it is first
/// needed.
#[derive(Default)]
pub(crate) struct RequestStateSealer(OnceCell<RequestStateCodec>);

impl RequestStateSealer {
    /// Created once and kept in the store: a restart or another replica does not invalidate states that are out.
    async fn codec(&self, engine: &Engine) -> Result<&RequestStateCodec> {
        let created = self.0.get_or_try_init(|| async {
            let key = engine.secret("request-state").await?;
            RequestStateCodec::try_new(key).map_err(Error::internal)
        });
        created.await
    }

    /// Reads the answers of a second call. Without a state an answer is accepted for a tool's own question, where it is
    /// no more than an argument, but never for a consent: that is valid only for the request it was asked for, and
    /// `binding` is what proves it.
    pub(super) async fn open(
        &self,
        engine: &Engine,
        binding: &[u8],
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Answers> {
        let responses = responses.unwrap_or_default().into_iter().filter(|(_, answer)| answer.is_object());
        let responses = responses.map(|(key, value)| (key, read_answer(value)));
        let Some(state) = state else {
            let given = responses.filter(|(key, _)| !key.starts_with(CONSENT_KEY)).collect();
            return Ok(Answers { given, state: Value::Null });
        };
        let invalid = || Error::invalid("The requestState is not valid for this request; call again without it.");
        let codec = self.codec(engine).await?;
        // Signature, age and binding are one check with one error: who tampers does not learn which of them failed.
        let opened = codec.open_json_with(state, binding);
        let RequestState { nonce, mut answers } = opened.map_err(|error| invalid().with_detail(error))?;
        // Last, so that a state which is not valid here cannot be used up by somebody who found it.
        if !engine.use_once(&nonce, LIFE).await? {
            return Err(Error::invalid("The requestState has been used already; call again without it."));
        }
        answers.given.extend(responses);
        Ok(answers)
    }

    /// The result that asks the client a call's questions. `before` are the answers it has given so far.
    pub(super) async fn ask(
        &self,
        engine: &Engine,
        binding: &[u8],
        open: OpenQuestions,
        mut before: Answers,
    ) -> Result<InputRequiredResult> {
        // A round that stores nothing keeps what the round before stored.
        if !open.state.is_null() {
            before.state = open.state;
        }
        let state = RequestState { nonce: new_id(), answers: before };
        let options = SealOptions::new().associated_data(binding).ttl(LIFE);
        let sealed = self.codec(engine).await?.seal_json_with(&state, &options).map_err(Error::internal)?;
        let questions = open.questions.into_iter().map(|(key, question)| Ok((key, input_request(question)?)));
        let questions = questions.collect::<Result<InputRequests>>()?;
        Ok(InputRequiredResult::new(Some(questions).filter(|questions| !questions.is_empty()), Some(sealed)))
    }
}
