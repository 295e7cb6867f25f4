//! The program: its command line, its configuration, and the wiring of the other crates.

mod cli;
mod commands;
mod config;
mod log;
mod own_files;
mod program_name;
mod wiring;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use mainstay_core::Family;
use mainstay_wire::{DIALECTS, DialectEntry};

pub use config::Config;

/// What a program adds to the built-in families and dialects; the test server uses it.
#[derive(Clone, Copy)]
pub struct Extensions {
    pub families: fn(&Config) -> Vec<Family>,
    pub dialects: &'static [DialectEntry],
    /// Where those dialects are served over HTTP: a path, and the name of the dialect.
    pub dialect_routes: &'static [(&'static str, &'static str)],
}

impl Extensions {
    pub const NONE: Self = Self { families: |_| Vec::new(), dialects: &[], dialect_routes: &[] };

    /// All dialects, besides the standard protocol.
    pub(crate) fn all_dialects(&self) -> impl Iterator<Item = &'static DialectEntry> {
        DIALECTS.iter().chain(self.dialects)
    }

    pub(crate) fn dialect(&self, name: &str) -> Option<&'static DialectEntry> {
        self.all_dialects().find(|dialect| dialect.name == name)
    }
}

/// Runs the command line and returns the exit code. Errors are printed to standard error.
pub fn main(args: impl Iterator<Item = OsString>, more: Extensions) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let name = program_name::of(args.first().map(OsString::as_os_str));
    let cli = match program_name::parse(name, &args, more.dialects) {
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
            let _ = writeln!(std::io::stderr(), "{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
