//! The program: its command line, its configuration, and how the parts are put together.

mod cli;
mod commands;
mod config;
mod house;
mod log;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mainstay_core::Family;

pub use config::Config;

/// Families a program brings besides the built-in ones.
pub type MoreFamilies = fn(&Config) -> Vec<Family>;

/// Runs the command line. Everything a person reads on failure is on standard error.
pub fn main(args: impl Iterator<Item = OsString>, more: MoreFamilies) -> ExitCode {
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::run(cli, more) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "mainstay: {error:#}");
            ExitCode::FAILURE
        }
    }
}
