//! A Solana node of our own: Surfpool, which embeds the Agave runtime, on a chain without a connection to any other.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::bench_support::servers::{Programs, Server, npm_package};

const PACKAGE: &str = "@solana/surfpool-linux-x64-gnu";

/// Slots as long as those of the public networks, which is how long an account read is cached.
const SCRIPT: &str = "const { Surfnet } = require(process.argv[1]);
const node = Surfnet.startWithConfig(JSON.stringify({ offline: true, blockProductionMode: 'clock', slotTimeMs: 400 }));
console.log(node.rpcUrl);
setInterval(() => {}, 1000);";

const START_LIMIT: Duration = Duration::from_mins(1);

pub(crate) struct Node {
    pub(crate) server: Server,
    pub(crate) port: u16,
}

impl Node {
    pub(crate) async fn start(programs: &Programs, scratch: &Path) -> Result<Self> {
        let mut command = programs.node();
        command.args(["-e", SCRIPT]).arg(npm_package(PACKAGE)?).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = Server::start("solana node", command, scratch)?;
        let output = server.child.stdout.take().context("the node's output is not read")?;
        let mut lines = BufReader::new(output).lines();
        let url = tokio::time::timeout(START_LIMIT, lines.next_line()).await;
        let url = url.context("the node does not start")??.with_context(|| {
            let log = server.log_tail();
            format!("the node ended:\n{log}")
        })?;
        let Some(port) = url.strip_prefix("http://127.0.0.1:").and_then(|port| port.parse().ok()) else {
            bail!("the node is not on this machine: {url}");
        };
        Ok(Self { server, port })
    }
}
