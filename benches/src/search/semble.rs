//! semble, a search for code in Python, as a process of its own. It is given the model that is part of Mainstay: its own
//! would have to be downloaded, and what is compared is all the rest.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::bench_support::message::shown;
use crate::bench_support::servers::{Server, command, tool};

pub(crate) const SEMBLE: &str = "semble";

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/semble_peer.py");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/mainstay-search/model");
/// Longer than the largest repository of the quality sets takes on a slow machine.
const LIMIT: Duration = Duration::from_mins(10);

/// Where semble finds its model, and where it may keep files.
pub(crate) struct Semble {
    model: PathBuf,
    scratch: PathBuf,
}

/// What semble says of an index that it has made. The times are without the start of the interpreter.
#[derive(Deserialize)]
pub(crate) struct Built {
    pub(crate) files: u64,
    pub(crate) chunks: u64,
    pub(crate) processor_seconds: f64,
}

#[derive(Deserialize)]
pub(crate) struct Found {
    /// Of chunks, the best first, relative to the indexed directory.
    pub(crate) paths: Vec<String>,
    seconds: f64,
}

impl Found {
    pub(crate) fn took(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

impl Semble {
    /// Makes the model's directory. An error says that semble is not installed.
    pub(crate) async fn prepare(scratch: &Path) -> Result<Self> {
        let model = scratch.join("semble-model");
        let made = script()?.args(["make-model", MODEL]).arg(&model).output().await?;
        if !made.status.success() {
            bail!("semble cannot be used (`cargo xtask bench` installs it): {}", shown(&made.stderr));
        }
        Ok(Self { model, scratch: scratch.to_owned() })
    }

    /// Indexes a directory from nothing and ends; it prints a [`Built`]. `place` names a cache that is its own.
    pub(crate) fn index(&self, directory: &Path, place: &str) -> Result<Command> {
        let mut run = script()?;
        run.arg("index").arg(&self.model).arg(directory);
        self.with_environment(&mut run, place);
        Ok(run)
    }

    /// A process that stays, with its index in memory.
    pub(crate) fn serve(&self, place: &str) -> Result<Process> {
        let mut run = script()?;
        run.arg("serve").arg(&self.model).stdin(Stdio::piped()).stdout(Stdio::piped());
        self.with_environment(&mut run, place);
        let mut server = Server::start(SEMBLE, run, &self.scratch)?;
        let stdin = server.child.stdin.take().context("no stdin")?;
        let stdout = server.child.stdout.take().context("no stdout")?;
        Ok(Process { server, stdin, stdout: BufReader::new(stdout).lines() })
    }

    fn with_environment(&self, run: &mut Command, place: &str) {
        let cache = self.scratch.join("semble-cache").join(place);
        // It counts what each search has saved its user in a file there, and looks for indexes that it has made before.
        run.env("SEMBLE_CACHE_DIR", &cache).env("XDG_CACHE_HOME", cache).env("HF_HUB_OFFLINE", "1");
    }
}

fn script() -> Result<Command> {
    let mut python = command(&tool("python")?);
    python.arg(SCRIPT);
    Ok(python)
}

/// A running semble; dropping it ends the process.
pub(crate) struct Process {
    pub(crate) server: Server,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Replaces the index of the process.
    pub(crate) async fn index(&mut self, directory: &Path) -> Result<Built> {
        self.ask(&json!({ "index": directory })).await
    }

    pub(crate) async fn search(&mut self, query: &str, top_k: usize) -> Result<Found> {
        self.ask(&json!({ "search": query, "top_k": top_k })).await
    }

    async fn ask<T: DeserializeOwned>(&mut self, request: &Value) -> Result<T> {
        self.stdin.write_all(format!("{request}\n").as_bytes()).await?;
        let line = timeout(LIMIT, self.stdout.next_line()).await.context("semble has not answered")??;
        let Some(line) = line else { bail!("semble has ended:\n{}", self.server.log_tail()) };
        serde_json::from_str(&line).with_context(|| format!("semble's answer: {}", shown(line.as_bytes())))
    }
}
