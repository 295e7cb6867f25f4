//! A command as a caller describes it, and what it means on this machine.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Kind, Principal, Result};
use tokio::net::unix::pipe;

use super::{ExecSettings, program};
use crate::workspace::{Dir, Workspace};

/// A command to run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    /// The working directory, a path in the workspace; the workspace itself by default.
    pub cwd: Option<String>,
    pub env: BTreeMap<String, String>,
    /// The program is a command line for `/bin/sh`, and the arguments are its `$1`, `$2` …
    pub shell: bool,
    /// Standard input is a pipe; otherwise it is empty.
    pub piped: bool,
    /// The command has a terminal of this size, instead of pipes.
    pub terminal: Option<TerminalSize>,
    /// How many bytes of each stream to keep, if less than the operator allows.
    pub output_bytes: Option<usize>,
    /// Whose share of the memory for long output it takes; the local user's by default.
    pub principal: Option<Principal>,
}

// The size of a terminal, in characters. Not a doc comment: the schemas that have its members would take it as theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct TerminalSize {
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
    #[schemars(range(min = 1, max = 1000))]
    pub columns: u16,
}

/// The server's ends of a command's standard streams; a command with a terminal has none.
#[derive(Default)]
pub(super) struct Pipes {
    pub(super) input: Option<pipe::Sender>,
    pub(super) output: Option<pipe::Receiver>,
    pub(super) errors: Option<pipe::Receiver>,
}

impl Command {
    /// The program to start; for a command line, the shell.
    pub(super) fn name(&self) -> &str {
        if self.shell { program::SHELL } else { &self.program }
    }

    /// Opens the working directory by the workspace's rules; an error names the field `cwd`.
    pub(super) fn directory(&self, workspace: &Workspace) -> Result<Dir> {
        workspace.find(self.cwd.as_deref().unwrap_or(".")).and_then(|path| path.open_dir()).map_err(as_cwd)
    }

    /// The file to start, if the operator allows it.
    pub(super) fn file(&self, search_path: &str, directory: &Path, settings: &ExecSettings) -> Result<PathBuf> {
        let file = program::find(self.name(), search_path, directory)?;
        program::allow(&file, settings, search_path)?;
        Ok(file)
    }

    /// The arguments, beginning with the program's name.
    pub(super) fn arguments(&self) -> Result<Vec<CString>> {
        let first: Vec<&str> = if self.shell { vec!["sh", "-c", &self.program, "sh"] } else { vec![&self.program] };
        let all = first.into_iter().chain(self.args.iter().map(String::as_str));
        all.map(|argument| CString::new(argument).map_err(|_| Error::field("args", "An argument contains a NUL byte.")))
            .collect()
    }

    /// Creates the pipes: returns the server's ends, and the command's standard input, output and error.
    pub(super) fn pipes(&self) -> io::Result<(Pipes, Vec<OwnedFd>)> {
        if self.terminal.is_some() {
            return Ok((Pipes::default(), Vec::new()));
        }
        let (output, their_output) = io::pipe()?;
        let (errors, their_errors) = io::pipe()?;
        let (input, their_input) = if self.piped {
            let (their_input, input) = io::pipe()?;
            (Some(pipe::Sender::from_owned_fd(input.into())?), their_input.into())
        } else {
            (None, std::fs::File::open("/dev/null")?.into())
        };
        let ours = Pipes {
            input,
            output: Some(pipe::Receiver::from_owned_fd(output.into())?),
            errors: Some(pipe::Receiver::from_owned_fd(errors.into())?),
        };
        Ok((ours, vec![their_input, their_output.into(), their_errors.into()]))
    }
}

/// Names the field that the caller has given the path in.
fn as_cwd(error: Error) -> Error {
    if matches!(error.kind, Kind::Invalid | Kind::NotFound) { Error::field("cwd", error.public) } else { error }
}
