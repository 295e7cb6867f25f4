//! `exec_start`: begins a command that runs on.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, new_id};
use mainstay_sandbox::exec::{Command, Protections, Sandbox, TerminalSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::session::{Session, Span};
use super::sessions::Sessions;

pub(crate) struct Start {
    pub(crate) sandbox: Sandbox,
    pub(crate) sessions: Arc<Sessions>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    #[serde(flatten)]
    asked: Asked,
    /// Give it a terminal. Without one it has a pipe for its input, and its output and errors come as one stream.
    #[serde(default = "crate::yes")]
    terminal: bool,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = 1000))]
    rows: u16,
    #[serde(default = "columns")]
    #[schemars(range(min = 1, max = 1000))]
    columns: u16,
    /// End it after so many seconds at the latest: seven days at most.
    #[serde(default)]
    #[schemars(range(min = 1, max = 604_800))]
    lifetime_seconds: Option<u64>,
}

fn rows() -> u16 {
    24
}

fn columns() -> u16 {
    80
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session's name for the other exec tools. Only its starter can use it.
    pub(crate) id: String,
    /// The protections that are in force.
    sandbox: Protections,
}

impl Tool for Start {
    const SPEC: Spec = Spec {
        title: "Start Session",
        description: "Starts a command that runs on after the call, such as a development server or an interpreter, in \
                      the same sandbox as exec_run. Read its output with exec_read, write to it with exec_write, end it \
                      with exec_kill. Sessions end when nobody uses them for long, and when the server stops.",
        pace: Pace::Quick,
        tags: &["exec", "session"],
        ..Spec::new("exec", "start", Effect::Executes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let command = args.asked.command(self.sandbox.settings().shell, &context.caller)?;
        let owner = context.caller.principal.clone();
        self.sessions.make_room(&owner)?;
        let size = TerminalSize { rows: args.rows, columns: args.columns };
        let program = if command.shell { "sh".to_owned() } else { command.program.clone() };
        let command = Command { piped: !args.terminal, terminal: args.terminal.then_some(size), ..command };
        let child = self.sandbox.start(&command).await?;
        let settings = self.sessions.settings();
        let span = Span {
            idle: Duration::from_secs(settings.idle_minutes.saturating_mul(60)),
            lifetime: args.lifetime_seconds.map(Duration::from_secs),
        };
        let about = (secret_id(), owner, program, context.clock.now_ms());
        let session = Session::begin(child, about, settings.buffer_bytes, span)?;
        let id = session.id.clone();
        self.sessions.add(session)?;
        Ok(Output { id, sandbox: self.sandbox.protections().await? })
    }
}

/// One random name has a little less than 128 random bits.
fn secret_id() -> String {
    let mut id = new_id();
    id.push_str(&new_id()[..8]);
    id
}
