//! The program: its command line, its configuration, and the wiring of the other crates.

mod cli;
mod commands;
mod config;
mod log;
mod program_name;
mod wiring;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use mainstay_core::Family;

pub use config::Config;

use program_name::ProgramName;

/// Tool families that a program adds to the built-in ones; the test server uses it.
pub type MoreFamilies = fn(&Config) -> Vec<Family>;

/// Runs the command line and returns the exit code. Errors are printed to standard error.
pub fn main(args: impl Iterator<Item = OsString>, more: MoreFamilies) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let name = ProgramName::of(args.first().map(OsString::as_os_str));
    let cli = match name.parse(&args) {
        Ok(cli) => cli,
        Err((error, code)) => {
            // clap prints help to standard output and errors to standard error.
            let _ = error.print();
            return code.into();
        }
    };
    match commands::run(cli, more) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}: {error:#}", name.name);
            ExitCode::FAILURE
        }
    }
}
