//! `mainstay config`: what can be set, and what is.

use std::process::ExitCode;

use super::say;
use crate::Config;
use crate::cli::ConfigCommand;
use crate::config::Loaded;

pub(crate) fn run(command: &ConfigCommand, loaded: &Loaded) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Schema => say(serde_json::to_string_pretty(&schemars::schema_for!(Config))?),
        ConfigCommand::Show => {
            match &loaded.file {
                Some(file) => say(format_args!("# from {}, the environment and the flags", file.display())),
                None => say("# there is no configuration file; from the defaults, the environment and the flags"),
            }
            say(toml::to_string_pretty(&loaded.config.redacted())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
