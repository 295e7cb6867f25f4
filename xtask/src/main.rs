//! The work around the house: `cargo xtask test`, `cargo xtask bench NAME` and `cargo xtask soak NAME`.
//!
//! Each command sets up what it needs by itself; see `tools.rs` for what is installed, and where.
#![expect(clippy::print_stdout, reason = "a driver talks to the person who started it; no protocol is on its stdout")]
#![expect(clippy::disallowed_methods, reason = "a driver's work is to start other programs")]

mod bench;
mod conformance;
mod documents;
#[cfg(test)]
mod house;
mod postgres;
mod process;
mod project;
mod scratch;
mod soak;
mod steps;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

use project::Project;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [STEP…] [--keep-going]   run every test, or only the steps named; stops at the first failure
  test --list                   name the steps, in the order they run
  bench NAME [ARGUMENT…]        run the benchmark in benches/NAME, in release
  bench --list                  name the benchmarks
  soak files                    race a million reads and writes against an attacker who swaps directories, in release
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    match command {
        "test" => steps::test(rest),
        "bench" => bench::bench(&Project::find()?, rest),
        "soak" => soak::soak(&Project::find()?, rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("there is no command {other:?}\n\n{USAGE}"),
    }
}
