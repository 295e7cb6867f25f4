//! `cargo xtask bench NAME`: one benchmark, optimised as shipped binaries are, with its peers installed.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::corpus::Corpora;
use crate::process;
use crate::project::Project;
use crate::tools::{Tool, Tools};

/// Where a benchmark finds its peers: `bin/node`, `npm/node_modules` and `cargo/bin` under it.
const VARIABLE: &str = "BENCH_TOOLS";
/// The option of every benchmark that leaves out the peers; then nothing needs to be installed for them.
const SKIP_PEERS: &str = "--skip-peers";
/// Figures are taken from the build that people get.
const PROFILE: [&str; 2] = ["--profile", "dist"];

/// The sandbox's own benchmark, whose figures are shown beside those of the whole server.
const SANDBOX: &str = "mainstay-sandbox";
const SPAWN_RATE: &str = "spawn_rate";

/// The benchmarks that read well-known source code.
const ANALYSIS: &str = "analysis";
const SEARCH: &str = "search";
/// The option of the latter that names a checkout of tokio; then nothing has to be downloaded.
const TOKIO: &str = "--tokio";

/// A subcommand of the package `bench`.
struct Benchmark {
    name: &'static str,
    about: &'static str,
    /// What it is measured against.
    peers: &'static [Tool],
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "protocol",
        about: "what every call goes through, over HTTP and stdio",
        peers: &[Tool::Node, Tool::ServerEverything],
    },
    Benchmark {
        name: "workspace",
        about: "the tools for files and commands",
        peers: &[Tool::Node, Tool::ServerFilesystem, Tool::Ripgrep],
    },
    Benchmark { name: "agents", about: "what logging costs as the store grows", peers: &[] },
    Benchmark {
        name: ANALYSIS,
        about: "complexity of source code, and churn from its history",
        peers: &[Tool::Python, Tool::Lizard, Tool::Radon, Tool::Complexipy],
    },
    Benchmark { name: "context", about: "caches of documents", peers: &[Tool::ContextCli, Tool::McpContextServer] },
    Benchmark {
        name: "solana",
        about: "reads of the Solana chain through the server, and at a node",
        peers: &[Tool::Node, Tool::Surfpool],
    },
    Benchmark {
        name: SEARCH,
        about: "search by meaning: quality, cost, large workspaces, and edits",
        peers: &[Tool::Python, Tool::Semble],
    },
];

pub(crate) fn bench(project: &Project, arguments: &[String]) -> Result<ExitCode> {
    let known = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ");
    let Some((name, rest)) = arguments.split_first() else { bail!("give the name of a benchmark: {known}") };
    if name == "--list" {
        for Benchmark { name, about, .. } in BENCHMARKS {
            println!("{name:<12} {about}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
        bail!("unknown benchmark {name:?}; there are: {known}");
    };
    let tools = Tools::new(&project.target);
    if !rest.iter().any(|argument| argument == SKIP_PEERS) {
        tools.set_up(benchmark.peers)?;
    }
    if name == ANALYSIS {
        provide_sources(project, &tools)?;
    }
    if name == SEARCH && !rest.iter().any(|argument| argument.starts_with(TOKIO)) {
        provide_tokio(project, &tools)?;
    }
    // The product by itself, with no features but its own; then the benchmark with its peers.
    let build = |more: &[&str]| process::run(project.cargo().arg("build").args(PROFILE).args(more));
    build(&["--package", "mainstay"])?;
    build(&["--package", "bench"])?;
    if name == "workspace" && has_example(project, SANDBOX, SPAWN_RATE) {
        build(&["--package", SANDBOX, "--example", SPAWN_RATE])?;
    }
    let mut command = project.cargo();
    command.env(VARIABLE, tools.directory());
    command.arg("run").args(PROFILE).args(["--package", "bench", "--bin", "bench", "--", name]).args(rest);
    process::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

/// Puts the source code of the comparisons where the benchmark looks for it.
fn provide_sources(project: &Project, tools: &Tools) -> Result<()> {
    tools.set_up(&[Tool::Python])?;
    let corpora = Corpora { directory: project.target.join("oracle"), python: tools.python() };
    let trees = project.target.join("bench-data/analysis");
    for (name, corpus) in [("python", corpora.python()?), ("rust", corpora.rust()?)] {
        println!("{name}: {} files of {}", corpus.files.len(), corpus.about);
        corpus.copy_to(&trees.join(name))?;
    }
    Ok(())
}

/// Puts tokio's crates where the benchmark of search looks for them.
fn provide_tokio(project: &Project, tools: &Tools) -> Result<()> {
    let corpora = Corpora { directory: project.target.join("oracle"), python: tools.python() };
    let corpus = corpora.tokio()?;
    println!("{} files of {}", corpus.files.len(), corpus.about);
    corpus.copy_to(&project.target.join("bench-data/search/tokio"))
}

fn has_example(project: &Project, package: &str, example: &str) -> bool {
    let packages = project.metadata["packages"].as_array().into_iter().flatten();
    let mut targets = packages
        .filter(|found| found["name"] == package)
        .flat_map(|found| found["targets"].as_array().into_iter().flatten());
    targets.any(|target| target["name"] == example && target["kind"][0] == "example")
}
