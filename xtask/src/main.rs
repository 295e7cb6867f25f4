//! The project's own commands: `cargo xtask test`, `bench`, `soak`, `oracle` and `lines`.
//!
//! Each command sets up what it needs by itself; see `tools.rs` for what is installed, and where.
#![expect(clippy::print_stdout, reason = "a driver talks to the person who started it; no protocol is on its stdout")]
#![expect(clippy::disallowed_methods, reason = "a driver's work is to start other programs")]

#[cfg(test)]
mod architecture_test;
mod bench;
mod conformance;
mod corpus;
mod documents;
#[cfg(test)]
mod module_cycles;
mod oracle;
mod postgres;
mod process;
mod project;
mod scratch;
mod soak;
mod source_lines;
mod steps;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

use project::Project;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [STEP…] [--keep-going]   run every test, or only the steps named; stops at the first failure
  test --list                   list the steps, in the order they run
  bench NAME [ARGUMENT…]        run a benchmark against its peers, optimised as shipped binaries are
  bench --list                  list the benchmarks
  soak NAME                     run one test for long, optimised: files or agents
  oracle [TOOL…]                compare the code metrics with other tools on well-known source code
  lines                         count the product's lines of code, comments and tests
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
        "lines" => source_lines::print(&Project::find()?),
        "oracle" => oracle::oracle(&Project::find()?, rest),
        "soak" => soak::soak(&Project::find()?, rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("unknown command {other:?}\n\n{USAGE}"),
    }
}
