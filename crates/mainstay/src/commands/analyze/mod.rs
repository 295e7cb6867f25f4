//! `mainstay analyze`: the analyses of the family `code` for a person at a terminal or a CI job. The figures are those of
//! the tools, from the same code; no server and no store are needed, and the person decides what is read.

mod complexity;
mod history;
mod output;
mod table;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use mainstay_core::Error;
use mainstay_tools::code::{NamedProject, ProjectSettings};

use super::{load_config, terminal};
use crate::cli::Flags;
use crate::cli::analyze::Analyze;
use crate::{Config, log};

/// A figure is over what the person allows.
const OVER: u8 = 1;
/// An error, or nothing was measured: no statement about the code, so never a pass.
const NO_RESULT: u8 = 2;

/// Why a command failed, for people.
struct CommandError(String);

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self(terminal::error_message(error))
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self(format!("{error:#}"))
    }
}

type Result<T> = std::result::Result<T, CommandError>;

pub(crate) fn run(flags: &Flags, command: &Analyze) -> ExitCode {
    let done = prepare(flags).and_then(|config| match command {
        Analyze::Complexity(args) => complexity::run(&config, args),
        Analyze::Churn(args) => history::churn(&config, args),
        Analyze::Hotspots(args) => history::hotspots(&config, args),
    });
    done.unwrap_or_else(|CommandError(message)| {
        print_error(&format!("mainstay: {message}"));
        ExitCode::from(NO_RESULT)
    })
}

fn prepare(flags: &Flags) -> Result<Config> {
    let config = load_config(flags)?;
    log::start(&config.log)?;
    // The walk holds a directory open for each level and thread.
    mainstay_sandbox::raise_open_files();
    Ok(config)
}

/// Opens what the person has named, with the server's settings and what it remembers.
fn open(config: &Config, path: &Path) -> Result<NamedProject> {
    // Without a home directory nothing is remembered.
    let cache = config.data_dir().ok().map(|data| data.join("code"));
    let settings =
        ProjectSettings { files: &config.files, exec: &config.exec, code: &config.code, cache: cache.as_deref() };
    Ok(NamedProject::open(path, settings)?)
}

/// Says that there are no figures. The exit code is that of an error: whoever relies on it must not take this for a pass.
fn nothing_measured(path: &Path, reason: &str) -> ExitCode {
    print_error(&format!("mainstay: nothing was measured in {}: {reason}", path.display()));
    ExitCode::from(NO_RESULT)
}

/// Prints a line to standard error, safe for a terminal.
fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", terminal::line(line));
}
