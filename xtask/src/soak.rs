//! `cargo xtask soak NAME`: a test for rare races, run for long and optimised.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process;
use crate::project::Project;

struct Soak {
    name: &'static str,
    package: &'static str,
    test: &'static str,
    filter: &'static str,
    /// The environment variable that sets the length; without it the test is as short as a test run needs.
    variable: &'static str,
    usual: &'static str,
}

const SOAKS: [Soak; 2] = [
    Soak {
        name: "files",
        package: "mainstay-tools",
        test: "attacks",
        filter: "race",
        variable: "MAINSTAY_SOAK_OPERATIONS",
        usual: "1000000",
    },
    Soak {
        name: "agents",
        package: "mainstay",
        test: "e2e",
        filter: "concurrent_logging",
        variable: "MAINSTAY_SOAK_SECONDS",
        usual: "60",
    },
];

pub(crate) fn soak(project: &Project, arguments: &[String]) -> Result<ExitCode> {
    let known = SOAKS.map(|soak| soak.name).join(", ");
    let [name] = arguments else { bail!("give the name of one soak test; there are: {known}") };
    let Some(soak) = SOAKS.iter().find(|soak| soak.name == name) else {
        bail!("unknown soak test {name:?}; there are: {known}");
    };
    let mut command = project.cargo();
    command.env(soak.variable, std::env::var(soak.variable).unwrap_or_else(|_| soak.usual.to_owned()));
    command.args(["test", "--release", "--package", soak.package, "--test", soak.test]);
    command.args([soak.filter, "--", "--nocapture"]);
    process::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}
