//! `exec_kill`: ends a session, or sends it a signal.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use mainstay_sandbox::exec::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::Sessions;

pub(crate) struct Kill(pub(crate) Arc<Sessions>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The session, as exec_start named it.
    id: String,
    /// What is sent to all its processes. Only kill cannot be ignored.
    #[serde(default = "usual")]
    signal: Signal,
}

fn usual() -> Signal {
    Signal::Term
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Whether it still runs, a moment later.
    pub(crate) running: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Tool for Kill {
    const SPEC: Spec = Spec {
        title: "Kill Session",
        description: "Sends a signal to every process of a session: term asks it to end, int is Ctrl-C, hup says that \
                      the terminal is gone, and kill ends it for certain. What it wrote can still be read for a while.",
        pace: Pace::Quick,
        tags: &["exec", "session"],
        ..Spec::new("exec", "kill", Effect::Executes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        // What cannot be ignored is waited for; of the rest it is only seen whether it worked at once.
        let wait = if args.signal == Signal::Kill { Duration::from_secs(10) } else { Duration::from_millis(500) };
        let ended = session.signal(args.signal, wait).await;
        Ok(Output {
            running: ended.is_none(),
            exit_code: ended.map(|ending| ending.code),
            signal: ended.and_then(|ending| ending.signal),
        })
    }
}
