//! Probes of the call itself: its arguments, its caller, its reply.

use std::time::Duration;

use mainstay_core::{Context, Effect, Note, Pace, Result, Scope, Spec, Spelling, Tool};
use mainstay_wire::toolkit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::probe;
use crate::NoArgs;
use crate::client_requests::{action, form};

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Text {
    text: String,
}

pub(crate) struct Echo;

impl Tool for Echo {
    const SPEC: Spec = Spec {
        pace: Pace::Instant,
        spellings: &[Spelling { dialect: toolkit::NAME, name: "probe_echo" }],
        ..probe("echo", Effect::Reads, "Returns the text it is given.")
    };
    type Args = Text;
    type Output = Text;

    async fn call(&self, args: Text, _context: &Context) -> Result<Text> {
        Ok(args)
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Identity {
    principal: String,
    scopes: Vec<Scope>,
    session: Option<String>,
    request_id: String,
}

pub(crate) struct Whoami;

impl Tool for Whoami {
    const SPEC: Spec = probe("whoami", Effect::Reads, "Returns who is calling, as the server sees it.");
    type Args = NoArgs;
    type Output = Identity;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Identity> {
        Ok(Identity {
            principal: context.caller.principal.to_string(),
            scopes: context.caller.scopes.iter().collect(),
            session: context.session.as_deref().map(str::to_owned),
            request_id: context.request_id.to_string(),
        })
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AskResult {
    action: &'static str,
    /// What was filled in; nothing if the question was declined
    content: Option<Map<String, Value>>,
}

pub(crate) struct Ask;

impl Tool for Ask {
    const SPEC: Spec = probe("ask", Effect::Reads, "Asks for a word and returns the answer.");
    type Args = NoArgs;
    type Output = AskResult;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<AskResult> {
        let answer = context.ask("word", form("Say a word.", "word", "string")).await?;
        Ok(AskResult { action: action(&answer), content: answer.value.as_object().cloned() })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SayArgs {
    /// The pieces of output, in order
    pieces: Vec<String>,
    /// How long to wait before each, in milliseconds
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pause_ms: u64,
    /// Whether the caller wants the pieces streamed
    #[serde(default)]
    stream: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SayReport {
    pieces: usize,
    stream: bool,
}

pub(crate) struct Say;

impl Tool for Say {
    const SPEC: Spec = probe("say", Effect::Reads, "Writes pieces of output to stdout and stderr in turns.");
    type Args = SayArgs;
    type Output = SayReport;

    async fn call(&self, args: SayArgs, context: &Context) -> Result<SayReport> {
        for (text, stream) in args.pieces.iter().zip(["stdout", "stderr"].into_iter().cycle()) {
            tokio::time::sleep(Duration::from_millis(args.pause_ms)).await;
            context.note(Note::Chunk { stream, text: text.clone() }).await;
        }
        Ok(SayReport { pieces: args.pieces.len(), stream: args.stream })
    }
}
