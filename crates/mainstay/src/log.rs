//! The log, on standard error: standard output belongs to the protocol.
//!
//! One event is one line, whatever its fields contain: a caller whose text ends up in the log cannot add lines of its own.

use std::io::{self, IsTerminal as _, Write};

use anyhow::Context as _;
use mainstay_core::{escape_invisible, escape_invisible_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Log level and format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// error, warn, info, debug, trace, or a filter such as `info,mainstay_engine=debug`.
    pub level: String,
    pub format: Format,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { level: "info".into(), format: Format::Text }
    }
}

/// Installs the log of the process. Fails if the level cannot be parsed.
pub(crate) fn start(settings: &LogSettings) -> anyhow::Result<()> {
    // The SDK logs every request at the level info, which is debug information to an operator.
    let filter = format!("rmcp=error,{}", settings.level);
    let filter = EnvFilter::try_new(&filter).with_context(|| format!("{:?} is not a log level", settings.level))?;
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer().with_target(false);
    match settings.format {
        Format::Text => {
            let colours = io::stderr().is_terminal();
            let safe: Escape = if colours { coloured_line } else { plain_line };
            registry.with(layer.with_writer(move || SafeLines(safe)).with_ansi(colours)).try_init()?;
        }
        // Strings of JSON have no line breaks, but control characters beyond ASCII.
        Format::Json => registry.with(layer.with_writer(|| SafeLines(escape_invisible_json)).json()).try_init()?,
    }
    Ok(())
}

/// Escapes what would end the line of an event, or make it look like another.
type Escape = fn(&str) -> String;

/// Standard error. Each write is one event, and becomes one line.
struct SafeLines(Escape);

impl Write for SafeLines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        io::stderr().lock().write_all((self.0)(&text).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn plain_line(event: &str) -> String {
    escape_invisible(&one_line(event)) + "\n"
}

/// The formatter writes escape sequences for its colours, and escapes those in fields itself.
fn coloured_line(event: &str) -> String {
    const ESCAPE: &str = "\u{1b}";
    one_line(event).split(ESCAPE).map(escape_invisible).collect::<Vec<_>>().join(ESCAPE) + "\n"
}

fn one_line(event: &str) -> String {
    event.strip_suffix('\n').unwrap_or(event).replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_fields_contain() {
        let forged = "INFO reason=a\n2026-01-01 ERROR forged\r\u{1b}[2K\u{202e}b\n";
        let line = plain_line(forged);
        assert_eq!(line, "INFO reason=a\\n2026-01-01 ERROR forged\\r\\u{001b}[2K\\u{202e}b\n");
        assert_eq!(
            coloured_line("\u{1b}[2ma\nb\u{1b}[0m\u{9b}2J\u{202e}\n"),
            "\u{1b}[2ma\\nb\u{1b}[0m\\u{009b}2J\\u{202e}\n"
        );
        assert_eq!(escape_invisible_json("{\"a\":\"\u{9b}2J\u{202e}\"}\n"), "{\"a\":\"\\u009b2J\\u202e\"}\n");
    }
}
