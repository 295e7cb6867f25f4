//! Who takes part, and how each is asked for the same thing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::process::Command;

use crate::bench_support::options;
use crate::bench_support::servers::{Build, Programs, command, tool};
use crate::bench_support::stdio::StdioServer;
use crate::context::queries::Query;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const BASELINE: &str = "baseline";
pub(crate) const CONTEXT_CLI: &str = "context-cli";
pub(crate) const CONTEXT_SERVER: &str = "mcp-context-server";

/// Seconds. The peer reads every document for every call, which takes longer than the usual limit when they are many.
const TOOL_TIMEOUT: &str = "300";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Peer,
    Mainstay(Build),
}

impl Contender {
    pub(crate) fn command_line(self) -> &'static str {
        match self {
            Self::Peer => CONTEXT_CLI,
            Self::Mainstay(Build::Current) => MAINSTAY,
            Self::Mainstay(Build::Baseline) => BASELINE,
        }
    }

    pub(crate) fn server(self) -> &'static str {
        match self {
            Self::Peer => CONTEXT_SERVER,
            Self::Mainstay(_) => self.command_line(),
        }
    }
}

pub(crate) struct Contenders {
    pub(crate) all: Vec<Contender>,
    programs: Programs,
    scratch: PathBuf,
}

impl Contenders {
    pub(crate) fn new(programs: Programs, scratch: &Path, settings: &options::Settings) -> Self {
        let peer = settings.peers.then_some(Contender::Peer);
        let builds = settings.builds.iter().copied().map(Contender::Mainstay);
        Self { all: peer.into_iter().chain(builds).collect(), programs, scratch: scratch.to_owned() }
    }

    /// Who builds the caches that all of them serve.
    pub(crate) fn builder(&self) -> Contender {
        let current = Contender::Mainstay(Build::Current);
        if self.all.contains(&current) { current } else { Contender::Peer }
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(crate) fn build(&self, contender: Contender, sources: &Path, cache: &Path) -> Result<Command> {
        let mut build = self.command_line(contender)?;
        build.arg("build").arg("--sources").arg(sources).arg("--cache").arg(cache);
        Ok(build)
    }

    pub(crate) fn resolve(&self, contender: Contender, cache: &Path, query: &Query) -> Result<Command> {
        let Query { query, budget } = query;
        let mut resolve = self.command_line(contender)?;
        resolve.arg("resolve").arg("--cache").arg(cache).args(["--query", query, "--budget", &budget.to_string()]);
        Ok(resolve)
    }

    fn command_line(&self, contender: Contender) -> Result<Command> {
        match contender {
            Contender::Peer => Ok(command(&tool("context")?)),
            Contender::Mainstay(build) => {
                let mut mainstay = self.programs.build(build)?;
                mainstay.arg("context").env("XDG_CONFIG_HOME", &self.scratch);
                Ok(mainstay)
            }
        }
    }

    /// Starts a server, with its data and its log under `place`.
    pub(crate) async fn serve(&self, contender: Contender, caches: &Path, place: &str) -> Result<StdioServer> {
        let place = self.scratch.join(format!("{place}-{}", contender.server()));
        std::fs::create_dir_all(&place)?;
        let mut server = match contender {
            Contender::Peer => command(&tool("mcp-context-server")?),
            Contender::Mainstay(build) => {
                let mut mainstay =
                    self.programs.mainstay(build, "stdio", &place.join("data"), &place.join("workspace"))?;
                mainstay.args(["--dialect", "context", "--log", "warn"]);
                mainstay
            }
        };
        server.env("CONTEXT_CACHE_ROOT", caches).env("CONTEXT_TOOL_TIMEOUT_SECS", TOOL_TIMEOUT);
        let (server, _) = StdioServer::start(contender.server(), server, &place).await?;
        Ok(server)
    }
}
