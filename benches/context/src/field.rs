//! The two sides, and how each is asked for the same deed.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::process::Command;
use yardstick::servers::{Programs, command, tool};
use yardstick::stdio::StdioServer;

use crate::questions::Question;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const CONTEXT_CLI: &str = "context-cli";
pub(crate) const CONTEXT_SERVER: &str = "mcp-context-server";

/// Seconds. The peer reads every document for every call, which takes longer than the usual limit when they are many.
const TOOL_TIMEOUT: &str = "300";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Peer,
    Ours,
}

impl Side {
    pub(crate) fn command_line(self) -> &'static str {
        match self {
            Self::Peer => CONTEXT_CLI,
            Self::Ours => MAINSTAY,
        }
    }

    pub(crate) fn server(self) -> &'static str {
        match self {
            Self::Peer => CONTEXT_SERVER,
            Self::Ours => MAINSTAY,
        }
    }
}

pub(crate) struct Field {
    pub(crate) sides: Vec<Side>,
    programs: Programs,
    scratch: PathBuf,
}

impl Field {
    pub(crate) fn new(programs: Programs, scratch: &Path, peers_only: bool) -> Self {
        let sides = if peers_only { vec![Side::Peer] } else { vec![Side::Peer, Side::Ours] };
        Self { sides, programs, scratch: scratch.to_owned() }
    }

    /// Who builds what all of them serve.
    pub(crate) fn builder(&self) -> Side {
        if self.sides.contains(&Side::Ours) { Side::Ours } else { Side::Peer }
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(crate) fn build(&self, side: Side, sources: &Path, cache: &Path) -> Result<Command> {
        let mut build = self.command_line(side)?;
        build.arg("build").arg("--sources").arg(sources).arg("--cache").arg(cache);
        Ok(build)
    }

    pub(crate) fn resolve(&self, side: Side, cache: &Path, question: &Question) -> Result<Command> {
        let Question { query, budget } = question;
        let mut resolve = self.command_line(side)?;
        resolve.arg("resolve").arg("--cache").arg(cache).args(["--query", query, "--budget", &budget.to_string()]);
        Ok(resolve)
    }

    fn command_line(&self, side: Side) -> Result<Command> {
        match side {
            Side::Peer => Ok(command(&tool("context")?)),
            Side::Ours => {
                let mut mainstay = command(&self.programs.own("mainstay")?);
                mainstay.arg("context").env("XDG_CONFIG_HOME", &self.scratch);
                Ok(mainstay)
            }
        }
    }

    /// A server of its own, with what it keeps and says under `place`.
    pub(crate) async fn serve(&self, side: Side, caches: &Path, place: &str) -> Result<StdioServer> {
        let place = self.scratch.join(format!("{place}-{}", side.server()));
        std::fs::create_dir_all(&place)?;
        let mut server = match side {
            Side::Peer => command(&tool("mcp-context-server")?),
            Side::Ours => {
                let mut mainstay = self.programs.mainstay("stdio", &place.join("data"), &place.join("workspace"))?;
                mainstay.args(["--dialect", "context", "--log", "warn"]);
                mainstay
            }
        };
        server.env("CONTEXT_CACHE_ROOT", caches).env("CONTEXT_TOOL_TIMEOUT_SECS", TOOL_TIMEOUT);
        let (server, _) = StdioServer::start(side.server(), server, &place).await?;
        Ok(server)
    }
}
