//! `exec_write`: types into a session.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::Sessions;

pub(crate) struct Write(pub(crate) Arc<Sessions>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The session, as exec_start named it.
    id: String,
    /// What to type. At a terminal a line ends with \n, and keys are control characters: \u0003 is Ctrl-C.
    #[serde(default)]
    text: String,
    /// Nothing more will come: closes the pipe, or types Ctrl-D at a terminal.
    #[serde(default)]
    close: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Bytes that were taken. Fewer than the text has if the program does not read: write the rest later.
    pub(crate) written: usize,
}

impl Tool for Write {
    const SPEC: Spec = Spec {
        title: "Write to Session",
        description: "Writes text to the input of a session, as if it were typed. Read what comes of it with exec_read.",
        pace: Pace::Quick,
        tags: &["exec", "session"],
        ..Spec::new("exec", "write", Effect::Executes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        let written = if args.text.is_empty() { 0 } else { session.write(args.text.as_bytes()).await? };
        if args.close && written == args.text.len() {
            session.close_input().await?;
        }
        Ok(Output { written })
    }
}
