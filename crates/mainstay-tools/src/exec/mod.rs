//! The family `exec`: runs commands in the sandbox, to their end or as sessions that callers write to and read from.
//! One file per tool.

mod kill;
mod list;
mod read;
mod resize;
mod run;
mod start;
mod write;

mod command_args;
mod sessions;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use mainstay_core::Family;
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::{ExecSettings, Sandbox};
use sessions::registry::SessionRegistry;

/// The family with all its tools, in the order in which they are listed.
pub(crate) fn family(workspace: &Workspace, settings: &ExecSettings) -> Family {
    let sandbox = Sandbox::new(workspace.clone(), settings.clone());
    // Shared by the tools: a session that one starts is found by the others.
    let sessions = Arc::new(SessionRegistry::new(settings.sessions.clone()));
    Family::new("exec")
        .tool(run::Run(sandbox.clone()))
        .tool(start::Start { sandbox, sessions: sessions.clone() })
        .tool(write::Write(sessions.clone()))
        .tool(read::Read(sessions.clone()))
        .tool(resize::Resize(sessions.clone()))
        .tool(kill::Kill(sessions.clone()))
        .tool(list::List(sessions))
}
