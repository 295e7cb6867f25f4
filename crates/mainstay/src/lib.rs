//! The program: its command line, its configuration, and how the parts are put together.

mod cli;
mod commands;
mod config;
mod house;
mod log;
mod names;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use mainstay_core::Family;

pub use config::Config;

use names::Name;

/// Families a program brings besides the built-in ones.
pub type MoreFamilies = fn(&Config) -> Vec<Family>;

/// Runs the command line. Everything a person reads on failure is on standard error.
pub fn main(args: impl Iterator<Item = OsString>, more: MoreFamilies) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let name = Name::of(args.first().map(OsString::as_os_str));
    let cli = match name.parse(&args) {
        Ok(cli) => cli,
        Err((error, code)) => {
            let _ = error.print();
            return code.into();
        }
    };
    match commands::run(cli, more) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}: {error:#}", name.word);
            ExitCode::FAILURE
        }
    }
}
