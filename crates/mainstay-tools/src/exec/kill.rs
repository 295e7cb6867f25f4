//! `exec_kill`: sends a signal to a session.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::exec::Signal;

use super::sessions::registry::{SessionRegistry, spec};
use super::sessions::session::ExitState;

/// Signals go to the whole process tree of the session, not only to the program that was started.
pub(crate) struct Kill(pub(crate) Arc<SessionRegistry>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Session id from exec_start.
    id: String,
    /// Signal for all its processes. Only kill cannot be ignored.
    #[serde(default)]
    signal: Signal,
}

impl Tool for Kill {
    const SPEC: Spec = Spec {
        title: "Kill session",
        description: "Ends a session by sending a signal to all its processes: term asks it to end, int is Ctrl-C, hup \
                      is a lost terminal, kill always ends it. Its output can still be read for ten minutes.",
        ..spec("kill", Effect::Executes)
    };
    type Args = Args;
    type Output = ExitState;

    async fn call(&self, args: Args, context: &Context) -> Result<ExitState> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        // kill cannot be ignored, so its effect is waited for; the others may have none.
        let wait = if args.signal == Signal::Kill { Duration::from_secs(10) } else { Duration::from_millis(500) };
        Ok(session.signal(args.signal, wait).await.into())
    }
}
