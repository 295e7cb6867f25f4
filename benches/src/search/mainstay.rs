//! Mainstay as a program that indexes and as a server that is asked.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;

use crate::bench_support::message::{shown, tool_call};
use crate::bench_support::reply;
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::stdio::StdioServer;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const BASELINE: &str = "baseline";

pub(crate) fn name(build: Build) -> &'static str {
    match build {
        Build::Current => MAINSTAY,
        Build::Baseline => BASELINE,
    }
}

/// What `mainstay index --json` says of the index.
#[derive(Deserialize)]
pub(crate) struct IndexReport {
    #[serde(rename = "documents")]
    pub(crate) files: u64,
    pub(crate) chunks: u64,
    complete: bool,
}

impl IndexReport {
    pub(crate) fn parse(stdout: &[u8]) -> Result<Self> {
        let said = || format!("`mainstay index` says: {}", shown(stdout));
        let report: Self = serde_json::from_slice(stdout).with_context(said)?;
        ensure!(report.complete, "{}", said());
        Ok(report)
    }
}

/// Indexes a directory into a data directory, and ends. The directory has to be a repository: of one inside a repository,
/// as everything under `target` is, the whole repository would be indexed.
pub(crate) fn index(programs: &Programs, build: Build, data: &Path, root: &Path) -> Result<Command> {
    std::fs::create_dir_all(data)?;
    let mut run = programs.build(build)?;
    run.arg("index").arg(root).arg("--json").arg("--data-dir").arg(data).env("XDG_CONFIG_HOME", data);
    Ok(run)
}

/// The answer of `vector_search`, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
}

#[derive(Deserialize)]
pub(crate) struct Match {
    pub(crate) metadata: Metadata,
}

#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) path: String,
    pub(crate) line_end: Option<u64>,
}

impl Found {
    pub(crate) fn parse(line: &[u8]) -> Result<Self> {
        reply::structured(line)
    }
}

pub(crate) fn search(query: &str, top_k: usize) -> String {
    tool_call("vector_search", &json!({ "query": query, "top_k": top_k }))
}

/// A server over stdio whose index is complete: the data directory is one that [`index`] has filled.
pub(crate) async fn serve(
    programs: &Programs,
    build: Build,
    data: &Path,
    root: &Path,
    scratch: &Path,
) -> Result<StdioServer> {
    let command = programs.mainstay(build, "stdio", data, root)?;
    let (server, _) = StdioServer::start(name(build), command, scratch).await?;
    Ok(server)
}

/// Asks until something is found, at most for a minute: a server may look for changed files first.
pub(crate) async fn first_answer(server: &mut StdioServer, query: &str) -> Result<Duration> {
    let started = std::time::Instant::now();
    while started.elapsed() < Duration::from_mins(1) {
        let line = server.ask(&search(query, 10)).await?;
        if !Found::parse(&line)?.matches.is_empty() {
            return Ok(started.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bail!("nothing is found for {query:?}, a minute after the start");
}
