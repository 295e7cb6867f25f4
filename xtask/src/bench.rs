//! `cargo xtask bench NAME`: one benchmark, in release, with the peers it is measured against installed.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process;
use crate::project::Project;
use crate::tools::{Tool, Tools};

/// Where a benchmark finds its peers: `bin/node`, `npm/node_modules` and `cargo/bin` under it.
const VARIABLE: &str = "BENCH_TOOLS";

/// The sandbox's own benchmark, whose figures are shown beside those of the whole server.
const SANDBOX: &str = "mainstay-sandbox";
const SPAWN_RATE: &str = "spawn_rate";

/// What a benchmark is measured against.
fn peers(name: &str) -> &'static [Tool] {
    match name {
        "context" => &[Tool::ContextCli, Tool::McpContextServer],
        "spine" => &[Tool::Node, Tool::ServerEverything],
        "workspace" => &[Tool::Node, Tool::ServerFilesystem, Tool::Ripgrep],
        _ => &[],
    }
}

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
    tools.set_up(peers(name))?;
    // The product by itself, with no features but its own; then all of the benchmark, its peers too.
    let package = format!("bench-{name}");
    process::run(project.cargo().args(["build", "--release", "--package", "mainstay"]))?;
    process::run(project.cargo().args(["build", "--release", "--package", &package]))?;
    if name == "workspace" && has_example(project, SANDBOX, SPAWN_RATE) {
        process::run(project.cargo().args(["build", "--release", "--package", SANDBOX, "--example", SPAWN_RATE]))?;
    }
    let mut command = project.cargo();
    command.env(VARIABLE, tools.directory());
    command.args(["run", "--release", "--package", &package, "--bin", &package, "--"]).args(rest);
    process::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

fn has_example(project: &Project, package: &str, example: &str) -> bool {
    let packages = project.metadata["packages"].as_array().into_iter().flatten();
    let mut targets = packages
        .filter(|found| found["name"] == package)
        .flat_map(|found| found["targets"].as_array().into_iter().flatten());
    targets.any(|target| target["name"] == example && target["kind"][0] == "example")
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
