//! The options that every benchmark has.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use crate::bench_support::servers::{Build, Programs};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Seconds under load in each round [default: 1.5 to 3, by benchmark]
    #[arg(long)]
    seconds: Option<f64>,
    /// Rounds in which the servers take turns; the median of them is reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Also measure this other build of Mainstay, and print the ratio of the current one to it
    #[arg(long, value_name = "PATH_TO_MAINSTAY")]
    baseline: Option<PathBuf>,
    /// Leave out Mainstay and measure the others
    #[arg(long, conflicts_with_all = ["baseline", "skip_peers"])]
    peers_only: bool,
    /// Leave out the peers and measure Mainstay alone, or against its baseline
    #[arg(long)]
    skip_peers: bool,
    /// Save all figures, those of each round too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The options of a run, checked.
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    /// How long a server is under load in a round.
    pub(crate) length: Duration,
    /// The builds of Mainstay that take part.
    pub(crate) builds: Vec<Build>,
    pub(crate) peers: bool,
    baseline: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Options {
    pub(crate) fn settings(self, usual_seconds: f64) -> Result<Settings> {
        let seconds = self.seconds.unwrap_or(usual_seconds);
        if self.rounds == 0 || !(0.1..=600.0).contains(&seconds) {
            bail!("--rounds must be at least 1 and --seconds between 0.1 and 600");
        }
        let mut builds = if self.peers_only { Vec::new() } else { vec![Build::Current] };
        builds.extend(self.baseline.as_ref().map(|_| Build::Baseline));
        Ok(Settings {
            rounds: self.rounds,
            length: Duration::from_secs_f64(seconds),
            builds,
            peers: !self.skip_peers,
            baseline: self.baseline,
            json: self.json,
        })
    }
}

impl Settings {
    pub(crate) fn programs(&self) -> Result<Programs> {
        Programs::find(self.baseline.as_deref())
    }

    /// Writes the results to the file of `--json`, if one was given.
    pub(crate) fn save(&self, results: &impl Serialize) -> Result<()> {
        let Some(path) = self.json.as_deref().map(Path::new) else { return Ok(()) };
        let json = serde_json::to_vec_pretty(results)?;
        std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))
    }
}
