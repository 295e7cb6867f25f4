//! `mainstay config`: prints the configuration and its schema.

use std::process::ExitCode;

use super::terminal::print_line;
use crate::Config;
use crate::cli::ConfigCommand;

/// Passwords are left out of what is printed.
pub(crate) fn run(command: &ConfigCommand, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Schema => print_line(serde_json::to_string_pretty(&schemars::schema_for!(Config))?),
        ConfigCommand::Show => {
            match &config.file {
                Some(file) => print_line(format_args!("# from {}, environment variables and options", file.display())),
                None => print_line("# no configuration file; from defaults, environment variables and options"),
            }
            print_line(toml::to_string_pretty(&config.redacted())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
