//! A command as callers ask for it.

use std::collections::BTreeMap;

use mainstay_core::{Caller, Result};
use mainstay_sandbox::exec::{Command, Shell};
use schemars::JsonSchema;
use serde::Deserialize;

use super::allow_shell;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Asked {
    /// The program: a name in the search path, or a path in the workspace. With shell: true a whole command line.
    command: String,
    /// Its arguments, each as it is: nothing in them is special. With shell: true they are $1, $2 …
    #[serde(default)]
    args: Vec<String>,
    /// The directory to run it in, relative to the workspace.
    #[serde(default)]
    cwd: Option<String>,
    /// Variables to set. Those that decide which code runs (PATH, LD_*, GIT_* …) are refused.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Run the command as a command line of /bin/sh.
    #[serde(default)]
    shell: bool,
}

impl Asked {
    /// The command, without anything to write to, if the caller may have it run.
    pub(super) fn command(self, shell: Shell, caller: &Caller) -> Result<Command> {
        allow_shell(self.shell, shell, caller)?;
        let Self { command: program, args, cwd, env, shell } = self;
        Ok(Command { program, args, cwd, env, shell, piped: false, terminal: None })
    }
}
