//! `exec_read`: what a session has written since a place in its output.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::Sessions;

pub(crate) struct Read(pub(crate) Arc<Sessions>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The session, as exec_start named it.
    id: String,
    /// Where to begin: 0, or the cursor of the read before.
    #[serde(default)]
    cursor: u64,
    /// Wait for so long if there is nothing new yet.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    wait_ms: u64,
    #[serde(default = "usual_bytes")]
    #[schemars(range(min = 4, max = 1_048_576))]
    max_bytes: usize,
}

fn usual_bytes() -> usize {
    65_536
}

#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "it is the output of a command")]
pub(crate) struct Output {
    /// What is not UTF-8 is shown as U+FFFD.
    pub(crate) output: String,
    /// Where to go on.
    pub(crate) cursor: u64,
    /// Bytes between the cursor that was given and the output, which are not kept any more.
    pub(crate) dropped: u64,
    pub(crate) running: bool,
    /// How it ended: its own exit code, or 128 and the signal's number.
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Tool for Read {
    const SPEC: Spec = Spec {
        title: "Read Session",
        description: "Returns what a session has written since a cursor, and the cursor to go on from. With wait_ms it \
                      waits for new output. It also tells whether the program still runs, and its exit code if not.",
        pace: Pace::Quick,
        idempotent: false,
        tags: &["exec", "session"],
        ..Spec::new("exec", "read", Effect::Reads)
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
            running: ended.is_none(),
            exit_code: ended.map(|ending| ending.code),
            signal: ended.and_then(|ending| ending.signal),
        })
    }
}
