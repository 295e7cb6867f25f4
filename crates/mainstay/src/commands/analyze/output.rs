//! Where a report goes: standard output, or the file that the person has named.

use std::io::IsTerminal as _;
use std::path::Path;

use mainstay_core::Error;
use mainstay_sandbox::{Content, Expect, FilesSettings, Step, Workspace};

use super::{CommandError, Result};
use crate::cli::analyze::OutputArgs;
use crate::commands::terminal;

/// A report in its format.
pub(super) enum Text {
    Json(String),
    Plain(String),
}

/// Prints or writes a report. What goes to a terminal is made safe for it; programs and files get every byte.
pub(super) fn deliver(to: &OutputArgs, text: Text) -> Result<()> {
    if let Some(file) = &to.file {
        let (Text::Json(text) | Text::Plain(text)) = text;
        return write(file, ended(text)).map_err(|error| {
            CommandError(format!("cannot write {}: {}", file.display(), terminal::error_message(error)))
        });
    }
    let text = match text {
        // The same value for programs too.
        Text::Json(text) => terminal::json(&text),
        Text::Plain(text) if std::io::stdout().is_terminal() => terminal::text(&text),
        Text::Plain(text) => text,
    };
    let failed = |error| CommandError(format!("standard output cannot be written: {error}"));
    terminal::print_all(&ended(text)).map_err(failed)
}

/// With a line break at its end.
fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Writes a file in one step, so that nobody reads half of a report.
fn write(file: &Path, text: String) -> mainstay_core::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Error::invalid("The name of the file is missing or not UTF-8."))?;
    let workspace = Workspace::open(directory, &FilesSettings::default())?;
    let target = workspace.find(name)?.write_target()?;
    let content = Content::Bytes(text.into_bytes());
    workspace.commit(vec![Step::Put { target, content, expect: Expect::Anything, mode: None }])?;
    Ok(())
}
