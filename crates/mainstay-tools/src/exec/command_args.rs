//! The arguments that describe a command, shared by `exec_run` and `exec_start`.

use std::collections::BTreeMap;

use mainstay_core::{Caller, Error, Result, Scope};
use mainstay_sandbox::exec::{Command, Shell};

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct CommandArgs {
    /// Program: a name in the search path or a path in the workspace. With shell: true, a command line.
    command: String,
    /// Arguments, passed as they are. With shell: true they are $1, $2 …
    #[serde(default)]
    args: Vec<String>,
    /// Working directory, relative to the workspace.
    cwd: Option<String>,
    /// Environment variables. Those that decide which code runs (PATH, LD_*, GIT_* …) are rejected.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Run the command as a command line of /bin/sh.
    #[serde(default)]
    shell: bool,
}

impl CommandArgs {
    /// The command, without standard input or a terminal. Fails if the caller may not use a shell.
    pub(super) fn command(self, shell: Shell, caller: &Caller) -> Result<Command> {
        check_shell_allowed(self.shell, shell, caller)?;
        let Self { command: program, args, cwd, env, shell } = self;
        let principal = Some(caller.principal.clone());
        Ok(Command { program, args, cwd, env, shell, principal, ..Command::default() })
    }
}

/// A command line is more than a command: who may write one can run everything that the sandbox lets run. Operators can
/// therefore restrict it.
fn check_shell_allowed(wanted: bool, setting: Shell, caller: &Caller) -> Result<()> {
    let is_admin = caller.scopes.allows(Scope::Admin);
    match setting {
        Shell::Never if wanted => {
            Err(Error::denied("The operator does not allow shell: true (exec.shell); give the program and its args."))
        }
        Shell::Admins if wanted && !is_admin => Err(Error::denied(
            "shell: true needs the scope admin (exec.shell = \"admins\"); give the program and its args instead.",
        )),
        Shell::Never | Shell::Admins | Shell::Everyone => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Scopes;

    use super::*;

    #[test]
    fn a_shell_needs_more_than_the_scope_execute() {
        let mut caller = Caller::local(None);
        assert!(check_shell_allowed(true, Shell::Admins, &caller).is_ok());
        assert!(check_shell_allowed(true, Shell::Never, &caller).is_err());
        caller.scopes = Scopes::parse("read write execute");
        assert!(check_shell_allowed(true, Shell::Admins, &caller).is_err());
        assert!(check_shell_allowed(true, Shell::Everyone, &caller).is_ok());
        assert!(check_shell_allowed(false, Shell::Never, &caller).is_ok());
    }
}
