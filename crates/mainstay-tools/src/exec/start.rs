//! `exec_start`: starts a command that keeps running after the call.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Context, Effect, Result, Spec, Tool, new_id};
use mainstay_sandbox::exec::{Command, Protections, Sandbox, TerminalSize};

use super::command_args::CommandArgs;
use super::sessions::registry::{SessionRegistry, spec};
use super::sessions::session::{Session, SessionInfo};
use crate::descriptors;

/// Checks the limits before the command is started and again when the session is added, because starting takes a while.
pub(crate) struct Start {
    pub(crate) sandbox: Sandbox,
    pub(crate) sessions: Arc<SessionRegistry>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    #[serde(flatten)]
    command: CommandArgs,
    /// Run in a terminal. Otherwise input is a pipe, and stdout and stderr are one stream.
    #[serde(default = "crate::defaults::yes")]
    terminal: bool,
    #[serde(default = "crate::defaults::number::<u16, 24>")]
    #[schemars(range(min = 1, max = 1000))]
    rows: u16,
    #[serde(default = "crate::defaults::number::<u16, 80>")]
    #[schemars(range(min = 1, max = 1000))]
    columns: u16,
    /// End the session after this many seconds; at most seven days.
    #[schemars(range(min = 1, max = 604_800))]
    lifetime_seconds: Option<u64>,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Session id for the other exec tools. Only the caller that started it can use it.
    pub(crate) id: String,
    /// Protections in force.
    sandbox: Protections,
}

impl Tool for Start {
    const SPEC: Spec = Spec {
        title: "Start session",
        description: "Starts a command that keeps running after the call, such as a development server or an \
                      interpreter, in the same sandbox as exec_run. Use exec_read, exec_write and exec_kill with its \
                      id. Sessions end when unused for long and when the server stops.",
        ..spec("start", Effect::Executes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let command = args.command.command(self.sandbox.settings().shell, &context.caller)?;
        let owner = context.caller.principal.clone();
        self.sessions.make_room(&owner)?;
        let descriptors = descriptors::for_command(&owner)?;
        let size = TerminalSize { rows: args.rows, columns: args.columns };
        // With a shell the command is a whole command line, which may contain secrets.
        let program = if command.shell { "sh".to_owned() } else { command.program.clone() };
        // A terminal is input and output in one; without it the input is a pipe.
        let command = Command { piped: !args.terminal, terminal: args.terminal.then_some(size), ..command };
        let child = self.sandbox.start(&command).await?;
        let (id, started_ms) = (secret_id(), context.clock.now_ms());
        let lifetime = args.lifetime_seconds.map(Duration::from_secs);
        let info = SessionInfo { id: id.clone(), owner, program, started_ms, lifetime };
        self.sessions.add(Session::start(child, info, &self.sessions.settings, descriptors)?)?;
        Ok(Output { id, sandbox: self.sandbox.protections().await? })
    }
}

/// An id that cannot be guessed: one `new_id` has slightly fewer than 128 random bits.
fn secret_id() -> String {
    new_id() + &new_id()[..8]
}
