//! `exec_resize`: sets the size of a session's terminal.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::exec::TerminalSize;

use super::sessions::registry::{SessionRegistry, spec};

/// Only for sessions with a terminal; a pipe has no size.
pub(crate) struct Resize(pub(crate) Arc<SessionRegistry>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Session id from exec_start.
    id: String,
    #[serde(flatten)]
    size: TerminalSize,
}

impl Tool for Resize {
    const SPEC: Spec = Spec {
        title: "Resize terminal",
        description: "Sets the size of a session's terminal in rows and columns and notifies its programs.",
        idempotent: true,
        ..spec("resize", Effect::Executes)
    };
    type Args = Args;
    type Output = TerminalSize;

    async fn call(&self, args: Args, context: &Context) -> Result<TerminalSize> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        // The kernel sends SIGWINCH to the programs in the terminal.
        session.resize(args.size)?;
        Ok(args.size)
    }
}
