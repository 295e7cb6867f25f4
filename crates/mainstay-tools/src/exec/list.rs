//! `exec_list`: lists the caller's sessions.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::registry::SessionRegistry;
use super::sessions::session::Session;

/// Shows only the program's name: the arguments may contain secrets.
pub(crate) struct List(pub(crate) Arc<SessionRegistry>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    pub(crate) sessions: Vec<ListedSession>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedSession {
    pub(crate) id: String,
    program: String,
    /// Milliseconds since 1970.
    started_ms: i64,
    /// Bytes of output so far.
    written: u64,
    pub(crate) running: bool,
    exit_code: Option<i32>,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List sessions",
        description: "Lists your sessions: those that run and those that ended in the last ten minutes.",
        pace: Pace::Instant,
        tags: &["exec", "session"],
        ..Spec::new("exec", "list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, _args: Args, context: &Context) -> Result<Output> {
        let sessions = self.0.owned_by(&context.caller.principal);
        let listed = |session: Arc<Session>| ListedSession {
            id: session.info.id.clone(),
            program: session.info.program.clone(),
            started_ms: session.info.started_ms,
            written: session.output_bytes(),
            running: session.ended().is_none(),
            exit_code: session.ended().map(|status| status.code),
        };
        Ok(Output { sessions: sessions.into_iter().map(listed).collect() })
    }
}
