//! The servers under test: where each program is found, how it is started, and that it is gone afterwards.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Calls a minute, more than any server answers.
const UNREACHED: &str = "1000000000";

const START_LIMIT: Duration = Duration::from_secs(30);

/// A build of Mainstay that takes part in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The one beside this program.
    Current,
    /// The one given with `--baseline`.
    Baseline,
}

/// Where the programs are.
pub(crate) struct Programs {
    beside: PathBuf,
    node: PathBuf,
    baseline: Option<PathBuf>,
}

impl Programs {
    /// Our own programs are beside this one; those of npm under `$BENCH_TOOLS`, else on the `PATH`.
    pub(crate) fn find(baseline: Option<&Path>) -> Result<Self> {
        let exe = std::env::current_exe().context("cannot find the path of this program")?;
        let beside = exe.parent().context("this program has no directory")?;
        Ok(Self {
            beside: beside.to_owned(),
            node: find_tool("node").unwrap_or_else(|| "node".into()),
            baseline: baseline.map(Path::to_owned),
        })
    }

    pub(crate) fn beside(&self) -> &Path {
        &self.beside
    }

    pub(crate) fn own(&self, name: &str) -> Result<PathBuf> {
        let path = self.beside.join(name);
        if !path.is_file() {
            bail!("{} is missing: `cargo xtask bench` builds it", path.display());
        }
        Ok(path)
    }

    /// The program of this build, without arguments.
    pub(crate) fn build(&self, build: Build) -> Result<Command> {
        let program = match build {
            Build::Current => self.own("mainstay")?,
            Build::Baseline => self.baseline.clone().context("no --baseline was given")?,
        };
        Ok(command(&program))
    }

    /// Mainstay with a data directory and a workspace of its own, and no configuration but its defaults and rate limits
    /// that are not reached.
    pub(crate) fn mainstay(&self, build: Build, transport: &str, data: &Path, workspace: &Path) -> Result<Command> {
        std::fs::create_dir_all(data)?;
        std::fs::create_dir_all(workspace)?;
        let mut mainstay = self.build(build)?;
        mainstay.arg(transport).arg("--data-dir").arg(data).arg("--workspace").arg(workspace);
        mainstay.env("XDG_CONFIG_HOME", data);
        // One client here calls more often than any agent: the limits are counted, but must not be what is measured.
        mainstay.env("MAINSTAY__ENGINE__RATE__PER_CLIENT__CALLS", UNREACHED);
        if build == Build::Current {
            mainstay.env("MAINSTAY__ENGINE__RATE__EACH_TOOL__CALLS", UNREACHED);
        }
        Ok(mainstay)
    }

    /// A directory on the disk the binaries are on: `/tmp` is memory on many machines, where a durable audit is free.
    pub(crate) fn scratch(&self) -> Result<TempDir> {
        tempfile::Builder::new()
            .prefix("bench-scratch-")
            .tempdir_in(&self.beside)
            .context("cannot make a directory beside this program")
    }

    /// Node, without arguments.
    pub(crate) fn node(&self) -> Command {
        command(&self.node)
    }

    /// Run by the Node we found rather than through its `#!` line, which would take whatever Node the `PATH` has.
    pub(crate) fn npm(&self, name: &str) -> Result<Command> {
        let mut command = self.node();
        command.arg(tool(name)?);
        Ok(command)
    }
}

/// A program under `$BENCH_TOOLS`, else on the `PATH`.
pub(crate) fn tool(name: &str) -> Result<PathBuf> {
    find_tool(name).with_context(|| format!("{name} is neither under $BENCH_TOOLS nor on the PATH"))
}

/// The directory of an npm package under `$BENCH_TOOLS`.
pub(crate) fn npm_package(name: &str) -> Result<PathBuf> {
    let tools = std::env::var_os("BENCH_TOOLS").map(PathBuf::from);
    let found =
        tools.iter().flat_map(|tools| ["node_modules", "npm/node_modules"].map(|sub| tools.join(sub).join(name)));
    found.into_iter().find(|package| package.is_dir()).with_context(|| format!("{name} is not under $BENCH_TOOLS"))
}

fn find_tool(name: &str) -> Option<PathBuf> {
    let tools = std::env::var_os("BENCH_TOOLS").map(PathBuf::from);
    let under_tools = tools.iter().flat_map(|tools| {
        ["node_modules/.bin", "npm/node_modules/.bin", "cargo/bin", "python/bin", "bin"].map(|sub| tools.join(sub))
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    under_tools
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark starts the servers it measures: there is no tool call here for the sandbox to confine"
)]
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.kill_on_drop(true);
    // Settings meant for this program must not reach the servers, which read variables of the same prefix.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MAINSTAY_") {
            command.env_remove(name);
        }
    }
    command
}

/// A running server; dropping it ends the process.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) child: Child,
    pub(crate) pid: u32,
    log: PathBuf,
}

impl Server {
    /// What the server writes to stderr goes to a file, so that nobody has to keep up with it and a failure can show it.
    pub(crate) fn start(name: &'static str, mut command: Command, scratch: &Path) -> Result<Self> {
        let log = scratch.join(format!("{}.log", name.replace([' ', ','], "-")));
        let child = command.stderr(File::create(&log)?).spawn().with_context(|| format!("cannot start {name}"))?;
        let pid = child.id().with_context(|| format!("{name} has no id"))?;
        Ok(Self { name, child, pid, log })
    }

    /// Starts a server that listens on a port of our choosing and waits until it accepts connections. The port is
    /// chosen here and not read from the server's words, which differ from one server to the next.
    pub(crate) async fn start_listening(
        name: &'static str,
        scratch: &Path,
        command: impl FnOnce(u16) -> Result<Command>,
    ) -> Result<(Self, u16)> {
        let port = free_port()?;
        let mut command = command(port)?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut server = Self::start(name, command, scratch)?;
        let deadline = Instant::now() + START_LIMIT;
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("{name} ended with {status}:\n{}", server.log_tail());
            }
            if Instant::now() > deadline {
                bail!("{name} does not listen:\n{}", server.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok((server, port))
    }

    /// Ends the process and waits until it is gone. One that is only dropped is waited for at some later time, and its
    /// processor time would count as that of a program that runs then.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("{} cannot be ended", self.name))
    }

    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}
