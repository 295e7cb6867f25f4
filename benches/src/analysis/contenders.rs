//! Who takes part, and how each is asked for the same thing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::process::Command;

use crate::analysis::tree::{Language, Tree};
use crate::bench_support::options;
use crate::bench_support::servers::{Build, Programs, command, tool};

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const SECOND_RUN: &str = "mainstay, second run";
pub(crate) const BASELINE: &str = "baseline";
pub(crate) const LIZARD: &str = "lizard";
pub(crate) const RADON: &str = "radon cc";
pub(crate) const COMPLEXIPY: &str = "complexipy";
pub(crate) const GIT: &str = "git log --numstat";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Mainstay(Build),
    Lizard,
    Radon,
    Complexipy,
}

impl Contender {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mainstay(Build::Current) => MAINSTAY,
            Self::Mainstay(Build::Baseline) => BASELINE,
            Self::Lizard => LIZARD,
            Self::Radon => RADON,
            Self::Complexipy => COMPLEXIPY,
        }
    }

    fn reads(self, language: Language) -> bool {
        match self {
            Self::Mainstay(_) | Self::Lizard => true,
            Self::Radon | Self::Complexipy => language == Language::Python,
        }
    }
}

pub(crate) struct Contenders {
    all: Vec<Contender>,
    pub(crate) builds: Vec<Build>,
    pub(crate) peers: bool,
    programs: Programs,
    scratch: PathBuf,
}

impl Contenders {
    pub(crate) fn new(programs: Programs, scratch: &Path, settings: &options::Settings) -> Self {
        let peers = [Contender::Lizard, Contender::Radon, Contender::Complexipy];
        let builds = settings.builds.iter().copied().map(Contender::Mainstay);
        Self {
            all: builds.chain(peers.into_iter().filter(|_| settings.peers)).collect(),
            builds: settings.builds.clone(),
            peers: settings.peers,
            programs,
            scratch: scratch.to_owned(),
        }
    }

    /// Those that read a language.
    pub(crate) fn of(&self, language: Language) -> Vec<Contender> {
        self.all.iter().copied().filter(|contender| contender.reads(language)).collect()
    }

    /// Measures the complexity of a whole tree. `place` is a directory of this run's own, so that nothing is known from
    /// before: data of Mainstay, and the cache of complexipy, which it would else keep in the current directory.
    pub(crate) fn complexity(&self, contender: Contender, tree: &Tree, place: &str) -> Result<Command> {
        let place = self.place(place)?;
        let mut run = match contender {
            Contender::Mainstay(build) => {
                let mut run = self.analyze(build, "complexity", &place)?;
                run.args(["--format", "json"]);
                run
            }
            Contender::Lizard => {
                let mut run = command(&tool("lizard")?);
                // A negative number: functions over a threshold are no failure.
                run.args(["-i", "-1", "-l", tree.language.name()]);
                run
            }
            Contender::Radon => {
                let mut run = command(&tool("radon")?);
                run.args(["cc", "--show-complexity"]);
                run
            }
            Contender::Complexipy => {
                let mut run = command(&tool("complexipy")?);
                run.args(["--isolated", "--ignore-complexity", "--plain", "--cache-dir"]).arg(place.join("cache"));
                run
            }
        };
        run.current_dir(place).arg(&tree.root);
        Ok(run)
    }

    /// Reads the whole history of a repository.
    pub(crate) fn churn(&self, build: Build, repository: &Path) -> Result<Command> {
        let place = self.place("churn")?;
        let mut run = self.analyze(build, "churn", &place)?;
        run.args(["--format", "json", "--days", "36500"]).arg(repository);
        Ok(run)
    }

    /// What git itself needs for the same, with the settings that it has by default.
    pub(crate) fn git_log(repository: &Path) -> Result<Command> {
        let mut run = command(&tool("git")?);
        run.arg("-C").arg(repository).args(["--no-pager", "log", "--numstat"]);
        run.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
        Ok(run)
    }

    fn analyze(&self, build: Build, what: &str, place: &Path) -> Result<Command> {
        let mut run = self.programs.build(build)?;
        run.args(["analyze", what, "--data-dir"]).arg(place.join("data")).env("XDG_CONFIG_HOME", place);
        Ok(run)
    }

    fn place(&self, name: &str) -> Result<PathBuf> {
        let place = self.scratch.join(name);
        std::fs::create_dir_all(&place)?;
        Ok(place)
    }
}
