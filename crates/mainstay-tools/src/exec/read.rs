//! `exec_read`: returns the output of a session from a position on.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Result, Spec, Tool};

use super::sessions::registry::{SessionRegistry, spec};
use super::sessions::session::ExitState;

/// A cursor is a position in the output, so a caller that lost a reply can read the same output again.
pub(crate) struct Read(pub(crate) Arc<SessionRegistry>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Session id from exec_start.
    id: String,
    /// Position to read from: 0, or the cursor of the previous read.
    #[serde(default)]
    cursor: u64,
    /// How long to wait if there is no new output yet.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    wait_ms: u64,
    #[serde(default = "crate::defaults::number::<usize, 65_536>")]
    #[schemars(range(min = 4, max = 1_048_576))]
    max_bytes: usize,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[expect(clippy::struct_field_names, reason = "it is the output of a command")]
pub(crate) struct Output {
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    pub(crate) output: String,
    /// Position to continue from.
    pub(crate) cursor: u64,
    /// Bytes after the given cursor that are not kept any more.
    pub(crate) dropped: u64,
    #[serde(flatten)]
    pub(crate) exit: ExitState,
}

impl Tool for Read {
    const SPEC: Spec = Spec {
        title: "Read session output",
        description: "Reads the output of a session from a cursor on. Returns the next cursor, whether the program still \
                      runs, and its exit code. Set wait_ms to wait for new output.",
        idempotent: false,
        ..spec("read", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let session = self.0.find(&args.id, &context.caller.principal)?;
        let (part, ended) = session.read(args.cursor, args.max_bytes, Duration::from_millis(args.wait_ms)).await;
        session.touch();
        Ok(Output {
            output: String::from_utf8_lossy(&part.bytes).into_owned(),
            cursor: part.next,
            dropped: part.dropped,
            exit: ended.into(),
        })
    }
}
