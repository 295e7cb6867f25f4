//! Commands in the workspace: run to their end, or kept as sessions that are written to and read from.

mod asked;
mod kill;
mod list;
mod read;
mod resize;
mod ring;
mod run;
mod session;
mod sessions;
mod start;
#[cfg(test)]
mod story;
mod write;

use std::sync::Arc;

use mainstay_core::{Caller, Error, Family, Result, Scope};
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::{ExecSettings, Sandbox, Shell};
use sessions::Sessions;

pub(crate) fn family(workspace: &Workspace, settings: &ExecSettings) -> Family {
    let sandbox = Sandbox::new(workspace.clone(), settings.clone());
    let sessions = Arc::new(Sessions::new(settings.sessions.clone()));
    Family::new("exec")
        .tool(run::Run(sandbox.clone()))
        .tool(start::Start { sandbox, sessions: sessions.clone() })
        .tool(write::Write(sessions.clone()))
        .tool(read::Read(sessions.clone()))
        .tool(resize::Resize(sessions.clone()))
        .tool(kill::Kill(sessions.clone()))
        .tool(list::List(sessions))
}

/// A command line is more than a command: whoever may write one may run everything the sandbox lets run.
fn allow_shell(wanted: bool, setting: Shell, caller: &Caller) -> Result<()> {
    let allowed = match setting {
        Shell::Never => false,
        Shell::Admins => caller.scopes.allows(Scope::Admin),
        Shell::Everyone => true,
    };
    if !wanted || allowed {
        return Ok(());
    }
    Err(Error::denied(match setting {
        Shell::Never => "The operator does not allow shell: true (exec.shell); give the program and its args.",
        Shell::Admins | Shell::Everyone => {
            "shell: true needs the scope admin (exec.shell = \"admins\"); give the program and its args instead."
        }
    }))
}

#[cfg(test)]
mod tests {
    use mainstay_core::Scopes;

    use super::*;

    #[test]
    fn a_shell_needs_more_than_the_right_to_execute() {
        let mut caller = Caller::local(None);
        assert!(allow_shell(true, Shell::Admins, &caller).is_ok());
        assert!(allow_shell(true, Shell::Never, &caller).is_err());
        caller.scopes = Scopes::parse("read write execute");
        assert!(allow_shell(true, Shell::Admins, &caller).is_err());
        assert!(allow_shell(true, Shell::Everyone, &caller).is_ok());
        assert!(allow_shell(false, Shell::Never, &caller).is_ok());
    }
}
