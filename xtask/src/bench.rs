//! `cargo xtask bench NAME`: one benchmark, in release, with the peers it is measured against installed.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process;
use crate::project::Project;
use crate::tools::{Tool, Tools};

/// Where a benchmark finds its peers: `bin/node` and `npm/node_modules` under it.
const VARIABLE: &str = "BENCH_TOOLS";

pub(crate) fn bench(project: &Project, arguments: &[String]) -> Result<ExitCode> {
    let known = benchmarks(project);
    let Some((name, rest)) = arguments.split_first() else {
        bail!("which benchmark? There {}", listed(&known));
    };
    if name == "--list" {
        for name in known {
            println!("{name}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !known.contains(name) {
        bail!("there is no benchmark {name:?}; there {}", listed(&known));
    }
    let tools = Tools::new(&project.target);
    tools.set_up(&[Tool::Node, Tool::ServerEverything])?;
    // The product by itself, with no features but its own; then all of the benchmark, its peers too.
    let package = format!("bench-{name}");
    process::run(project.cargo().args(["build", "--release", "--package", "mainstay"]))?;
    process::run(project.cargo().args(["build", "--release", "--package", &package]))?;
    let mut command = project.cargo();
    command.env(VARIABLE, tools.directory());
    command.args(["run", "--release", "--package", &package, "--bin", &package, "--"]).args(rest);
    process::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

/// The packages `bench-NAME` of the workspace, by NAME.
fn benchmarks(project: &Project) -> Vec<String> {
    let packages = project.metadata["packages"].as_array().into_iter().flatten();
    let names = packages.filter_map(|package| package["name"].as_str()?.strip_prefix("bench-"));
    let mut names: Vec<String> = names.map(ToOwned::to_owned).collect();
    names.sort();
    names
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "are none yet".to_owned() } else { format!("are: {}", names.join(", ")) }
}
