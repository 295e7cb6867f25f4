//! `cargo xtask soak NAME`: a test that looks for a needle in a million operations, in release.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process;
use crate::project::Project;

/// How many operations the test makes; without it, as many as a test run has time for.
const VARIABLE: &str = "MAINSTAY_SOAK_OPERATIONS";
const OPERATIONS: &str = "1000000";

pub(crate) fn soak(project: &Project, arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [name] if name == "files" => {
            let mut command = project.cargo();
            command.env(VARIABLE, std::env::var(VARIABLE).unwrap_or_else(|_| OPERATIONS.to_owned()));
            command.args(["test", "--release", "--package", "mainstay-tools", "--test", "attacks"]);
            command.args(["race", "--", "--nocapture"]);
            process::run(&mut command)?;
            Ok(ExitCode::SUCCESS)
        }
        [name] => bail!("there is no soak {name:?}; there is: files"),
        [] | [_, _, ..] => bail!("give the name of one soak; there is: files"),
    }
}
