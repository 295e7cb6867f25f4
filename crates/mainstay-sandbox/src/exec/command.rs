//! What a caller wants to run, and what it means on this machine.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Kind, Result};

use super::program;
use super::settings::ExecSettings;
use crate::{Dir, Workspace};

/// What a caller wants to run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    /// A path in the workspace; the workspace itself if there is none.
    pub cwd: Option<String>,
    pub env: BTreeMap<String, String>,
    /// The program is a command line for `/bin/sh`, and the arguments are its `$1`, `$2` …
    pub shell: bool,
    /// Standard input is a pipe; nothing can be read from it otherwise.
    pub piped: bool,
    /// It runs at a terminal of its own.
    pub terminal: Option<TerminalSize>,
}

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

impl Command {
    /// What is started: the program, or the shell that reads the command line.
    pub(crate) fn name(&self) -> &str {
        if self.shell { program::SHELL } else { &self.program }
    }

    pub(crate) fn directory(&self, workspace: &Workspace) -> Result<Dir> {
        workspace.find(self.cwd.as_deref().unwrap_or(".")).and_then(|spot| spot.open_dir()).map_err(as_cwd)
    }

    /// The file to be started, if the operator lets it be.
    pub(crate) fn file(&self, search_path: &str, directory: &Path, settings: &ExecSettings) -> Result<PathBuf> {
        let file = program::find(self.name(), search_path, directory)?;
        program::allow(&file, settings, search_path)?;
        Ok(file)
    }

    pub(crate) fn arguments(&self) -> Result<Vec<CString>> {
        let first: Vec<&str> = if self.shell { vec!["sh", "-c", &self.program, "sh"] } else { vec![&self.program] };
        let all = first.into_iter().chain(self.args.iter().map(String::as_str));
        all.map(|argument| CString::new(argument).map_err(|_| Error::field("args", "An argument has a NUL in it.")))
            .collect()
    }
}

/// The path was the working directory, and a caller looks for it under that name.
fn as_cwd(error: Error) -> Error {
    if matches!(error.kind, Kind::Invalid | Kind::NotFound) { Error::field("cwd", error.public) } else { error }
}
