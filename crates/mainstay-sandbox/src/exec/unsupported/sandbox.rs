//! Starts commands without protection: plain processes, and only if the operator has switched the sandbox off.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::{Arc, OnceLock};

use mainstay_core::{Error, Kind, Result};
use rustix::process::{Rlimit, fchdir, setrlimit, setsid};

use super::child::Child;
use crate::exec::private_dir::PrivateDir;
use crate::exec::protections::{NONE, limits_of_each};
use crate::exec::visibility::Visibility;
use crate::exec::{Command, ExecSettings, Finding, Protections, SandboxMode, environment, limits, program};
use crate::workspace::{Dir, Workspace};

/// Starts commands. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: ExecSettings,
    visibility: OnceLock<Visibility>,
}

impl Sandbox {
    /// Sets nothing up before the first command.
    pub fn new(workspace: Workspace, settings: ExecSettings) -> Self {
        Self(Arc::new(Inner { workspace, settings, visibility: OnceLock::new() }))
    }

    /// The same: no machine with this system has namespaces.
    pub fn without_namespaces(workspace: Workspace, settings: ExecSettings) -> Self {
        Self::new(workspace, settings)
    }

    pub fn settings(&self) -> &ExecSettings {
        &self.0.settings
    }

    /// The protections of every command; an error says why none can be run.
    #[expect(clippy::unused_async, reason = "on Linux this waits for the probe of the machine")]
    pub async fn protections(&self) -> Result<Protections> {
        self.0.admit()?;
        Ok(protections(&self.0.settings))
    }

    /// Starts a command; when this returns it is running.
    pub async fn start(&self, command: &Command) -> Result<Child> {
        environment::check(&command.env)?;
        self.0.admit()?;
        if command.terminal.is_some() {
            let text = "Commands cannot have a terminal on this system; start it with pipes instead (terminal: false).";
            return Err(Error::new(Kind::Unsupported, text));
        }
        let (pipes, theirs) = command.pipes().map_err(Error::internal)?;
        let theirs = <[OwnedFd; 3]>::try_from(theirs).map_err(|_| Error::internal("a command without streams"))?;
        let (inner, wanted) = (self.0.clone(), command.clone());
        Child::start(pipes, move || inner.spawn(&wanted, theirs)).await
    }
}

impl Inner {
    /// Refuses every command unless the operator has switched the sandbox off.
    fn admit(&self) -> Result<()> {
        match self.settings.sandbox {
            SandboxMode::On | SandboxMode::Strict => Err(refusal()),
            SandboxMode::Off => Ok(()),
        }
    }

    /// Only the search path and the toolchains' variables of it are used: nothing enforces the rest.
    fn visibility(&self) -> &Visibility {
        self.visibility.get_or_init(|| {
            PrivateDir::remove_leftovers();
            Visibility::new(&self.workspace, &self.settings)
        })
    }

    /// Starts the process, with a temporary directory of its own.
    fn spawn(&self, command: &Command, streams: [OwnedFd; 3]) -> Result<(process::Child, PrivateDir)> {
        let directory = command.directory(&self.workspace)?;
        let visibility = self.visibility();
        let search_path = visibility.variables.get("PATH").map_or("", String::as_str);
        let file = command.file(search_path, &directory.absolute(), &self.settings)?;
        let tmp = PrivateDir::create().map_err(Error::internal)?;
        let defaults = environment::defaults(&self.settings, visibility, tmp.path());
        let variables = environment::build(defaults, &self.settings.env, &command.env)?;
        let mut process = build_process(&file, &command.arguments()?, &variables);
        let [input, output, errors]: [Stdio; 3] = streams.map(Stdio::from);
        process.stdin(input).stdout(output).stderr(errors);
        isolate(&mut process, directory, &self.settings);
        match process.spawn() {
            Ok(child) => Ok((child, tmp)),
            Err(error) => {
                let known = error.raw_os_error().and_then(|errno| program::refusal(command.name(), errno));
                Err(known.unwrap_or_else(|| Error::unavailable(format!("The command was not run: {error}."))))
            }
        }
    }
}

/// A process with exactly these arguments and variables.
#[expect(clippy::disallowed_methods, reason = "this is the one place where processes are started")]
fn build_process(file: &Path, arguments: &[CString], variables: &[CString]) -> process::Command {
    let mut process = process::Command::new(file);
    let mut arguments = arguments.iter().map(|argument| OsStr::from_bytes(argument.to_bytes()));
    if let Some(name) = arguments.next() {
        process.arg0(name);
    }
    process.args(arguments).env_clear();
    for variable in variables {
        let mut parts = variable.to_bytes().splitn(2, |byte| *byte == b'=').map(OsStr::from_bytes);
        if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            process.env(name, value);
        }
    }
    process
}

/// Gives the process a session and a group of its own, the opened working directory, and the resource limits.
#[expect(unsafe_code, reason = "between fork and exec only some functions may be called")]
fn isolate(process: &mut process::Command, directory: Dir, settings: &ExecSettings) {
    let limits = limits::of_each(settings);
    let enter = move || {
        setsid()?;
        fchdir(&directory)?;
        for (resource, most) in &limits {
            setrlimit(*resource, Rlimit { current: Some(*most), maximum: Some(*most) })?;
        }
        Ok(())
    };
    // SAFETY: these are system calls; nothing is allocated and no lock is taken.
    unsafe { process.pre_exec(enter) };
}

/// What to do instead of running commands without protection.
pub(crate) const OFF_REMEDY: &str = "To have commands refused, set sandbox = \"on\" in [exec]; to have them \
                                         confined, run the server on Linux.";

/// There is nothing to ask the kernel for.
pub(crate) fn findings() -> Vec<Finding> {
    Vec::new()
}

/// The error for every command while the sandbox is not switched off.
fn refusal() -> Error {
    Error::unavailable(format!(
        "Commands cannot be run: this system ({}) has no Landlock, seccomp or namespaces to confine them with; set \
         exec.sandbox = \"off\" to run commands without protection.",
        std::env::consts::OS
    ))
}

/// What applies to a command that nothing confines.
fn protections(settings: &ExecSettings) -> Protections {
    Protections {
        level: "off".into(),
        filesystem: NONE.into(),
        network: NONE.into(),
        processes:
            "those of the command's process group end with the call; one that leaves the group outlives it, and \
                    all of them outlive a server that is killed"
                .into(),
        privileges: "those of the server".into(),
        protected_names: NONE.into(),
        limits: format!("{} (rlimits)", limits_of_each(settings)),
    }
}
