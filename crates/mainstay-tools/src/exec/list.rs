//! `exec_list`: the caller's sessions.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::Sessions;

pub(crate) struct List(pub(crate) Arc<Sessions>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    pub(crate) sessions: Vec<Item>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Item {
    pub(crate) id: String,
    program: String,
    /// Milliseconds since 1970.
    started_ms: i64,
    /// How many bytes it has written.
    written: u64,
    pub(crate) running: bool,
    exit_code: Option<i32>,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List Sessions",
        description: "Lists the sessions this caller has started, those that run and those that ended a short while ago.",
        pace: Pace::Instant,
        tags: &["exec", "session"],
        ..Spec::new("exec", "list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, _args: Args, context: &Context) -> Result<Output> {
        let sessions = self.0.of(&context.caller.principal);
        let item = |session: Arc<super::session::Session>| Item {
            id: session.id.clone(),
            program: session.program.clone(),
            started_ms: session.started_ms,
            written: session.written(),
            running: session.ended().is_none(),
            exit_code: session.ended().map(|ending| ending.code),
        };
        Ok(Output { sessions: sessions.into_iter().map(item).collect() })
    }
}
