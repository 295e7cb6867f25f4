//! `exec_list`: lists the caller's sessions.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};

use super::sessions::registry::{SessionRegistry, spec};
use super::sessions::session::{ExitState, Session, SessionInfo};
use crate::pagination::PageArgs;

/// Shows only the program's name: the arguments may contain secrets.
pub(crate) struct List(pub(crate) Arc<SessionRegistry>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// By id.
    pub(crate) sessions: Vec<ListedSession>,
    /// cursor of the next page; null on the last page.
    pub(crate) next_cursor: Option<String>,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ListedSession {
    #[serde(flatten)]
    pub(crate) info: SessionInfo,
    /// Bytes of output so far.
    written: u64,
    #[serde(flatten)]
    pub(crate) exit: ExitState,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List sessions",
        description: "Lists your sessions: those that run and those that ended in the last ten minutes.",
        pace: Pace::Instant,
        ..spec("list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let mut sessions = self.0.owned_by(&context.caller.principal);
        sessions.retain(|session| args.page.after().is_none_or(|after| session.info.id.as_str() > after));
        let size = |session: &Arc<Session>| session.info.program.len() + 200;
        let (sessions, next_cursor) = args.page.cut(sessions, size, |session| session.info.id.clone());
        let listed = |session: Arc<Session>| ListedSession {
            info: session.info.clone(),
            written: session.output_bytes(),
            exit: session.ended().into(),
        };
        Ok(Output { sessions: sessions.into_iter().map(listed).collect(), next_cursor })
    }
}
