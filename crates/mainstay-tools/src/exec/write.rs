//! `exec_write`: writes to the input of a session.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Result, Spec, Tool};

use super::sessions::registry::{SessionRegistry, spec};

/// Writes as much as the program takes: a program that does not read must not block the call.
pub(crate) struct Write(pub(crate) Arc<SessionRegistry>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Session id from exec_start.
    id: String,
    /// Text to write. In a terminal, end a line with \n; keys are control characters: \u0003 is Ctrl-C.
    #[serde(default)]
    text: String,
    /// End the input: closes the pipe, or sends Ctrl-D to a terminal.
    #[serde(default)]
    close: bool,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Bytes written. Fewer than the text has if the program does not read: write the rest later.
    pub(crate) written: usize,
}

impl Tool for Write {
    const SPEC: Spec = Spec {
        title: "Write to session",
        description: "Writes text to the input of a session, as if typed. Read the response with exec_read.",
        ..spec("write", Effect::Executes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        let written = if args.text.is_empty() { 0 } else { session.write(args.text.as_bytes()).await? };
        // After a partial write the caller has to send the rest first.
        if args.close && written == args.text.len() {
            session.close_input().await?;
        }
        Ok(Output { written })
    }
}
