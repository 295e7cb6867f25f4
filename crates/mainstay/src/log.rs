//! The log, on standard error: standard output belongs to the protocol.

use anyhow::Context as _;
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
    let layer = fmt::layer().with_writer(std::io::stderr).with_target(false);
    match settings.format {
        Format::Text => {
            registry.with(layer.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))).try_init()?
        }
        Format::Json => registry.with(layer.json()).try_init()?,
    }
    Ok(())
}
