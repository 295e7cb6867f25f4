//! Starting commands: what is asked for becomes a plan, and the plan a process.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Error, Kind, Result};
use tokio::net::unix::pipe;
use tokio::sync::OnceCell;

use super::child::{Child, Terminal};
use super::linux::{Failure, Ground, Line, Mask, Message, Plan, PrivateDir, Size, Spawner, Step, Tree};
use super::masks::Scan;
use super::protections::Protections;
use super::reach::Reach;
use super::settings::{ExecSettings, SandboxMode};
use super::{environment, limits, program};
use crate::Workspace;

/// What a caller wants to run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    /// A path in the workspace; the workspace itself if there is none.
    pub cwd: Option<String>,
    pub env: BTreeMap<String, String>,
    /// The program is a command line for `/bin/sh`, and the arguments are its `$1`, `$2` …
    pub shell: bool,
    /// Standard input is a pipe; nothing can be read from it otherwise.
    pub piped: bool,
    /// It runs at a terminal of its own.
    pub terminal: Option<Size>,
}

/// The door through which commands are started.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: ExecSettings,
    namespaces: bool,
    base: OnceCell<Base>,
    scan: Mutex<Scan>,
}

/// What is found out and set up when the first command is run.
struct Base {
    spawner: Spawner,
    ground: Arc<Ground>,
    reach: Arc<Reach>,
}

/// How often a command is tried when the workspace changes under its feet.
const ATTEMPTS: usize = 5;

impl Sandbox {
    /// Nothing is set up before the first command.
    pub fn new(workspace: Workspace, settings: ExecSettings) -> Self {
        Self::build(workspace, settings, true)
    }

    /// As on a machine that allows no namespaces.
    pub fn without_namespaces(workspace: Workspace, settings: ExecSettings) -> Self {
        Self::build(workspace, settings, false)
    }

    fn build(workspace: Workspace, settings: ExecSettings, namespaces: bool) -> Self {
        let scan = Mutex::new(Scan::new(&settings));
        Self(Arc::new(Inner { workspace, settings, namespaces, base: OnceCell::new(), scan }))
    }

    pub fn settings(&self) -> &ExecSettings {
        &self.0.settings
    }

    /// What is in force for every command; an error says why none can be run.
    pub async fn protections(&self) -> Result<Protections> {
        self.base().await.map(|base| base.ground.protections.clone())
    }

    async fn base(&self) -> Result<&Base> {
        self.0
            .base
            .get_or_try_init(|| async {
                let inner = &self.0;
                let reach = Arc::new(Reach::of(&inner.workspace, &inner.settings));
                let spawner = Spawner::start(&inner.settings)?;
                tokio::task::spawn_blocking(PrivateDir::forget_old).await.map_err(Error::internal)?;
                let ground = Arc::new(spawner.find(&inner.settings, reach.clone(), inner.namespaces).await?);
                Ok(Base { spawner, ground, reach })
            })
            .await
    }

    /// Starts a command; when this returns it is running.
    pub async fn start(&self, command: &Command) -> Result<Child> {
        environment::check(&command.env)?;
        let base = self.base().await?;
        let mut attempt = 1;
        loop {
            match self.attempt(base, command).await? {
                Ok(child) => return Ok(child),
                Err(failure) if failure.step == Step::Moved && attempt < ATTEMPTS => attempt += 1,
                Err(failure) => return Err(refusal(command, failure)),
            }
        }
    }

    async fn attempt(&self, base: &Base, command: &Command) -> Result<Result<Child, Failure>> {
        let (line, theirs) = Line::pair().map_err(Error::internal)?;
        let (ours, streams) = streams(command).map_err(Error::internal)?;
        let (sandbox, ground, reach) = (self.clone(), base.ground.clone(), base.reach.clone());
        let wanted = command.clone();
        let prepare = move || {
            let prepared = sandbox.prepare(&ground, &reach, &wanted)?;
            prepared.into_plan(ground, theirs, streams, wanted.terminal).map_err(Error::internal)
        };
        let whole = base.ground.hides_names();
        let (process, tmp) = match base.spawner.launch(prepare).await? {
            Ok(started) => started,
            Err(failure) => return Ok(Err(failure)),
        };
        let tree = Tree::new(process, whole, tmp).map_err(Error::internal)?;
        let child = Child {
            input: ours.input,
            output: ours.output,
            errors: ours.errors,
            terminal: None,
            line: Arc::new(line),
            tree: Some(tree),
            ended: None,
        };
        follow(child).await.map_err(Error::internal)
    }

    /// Everything that has to do with the file system.
    fn prepare(&self, ground: &Ground, reach: &Reach, command: &Command) -> Result<Prepared> {
        let inner = &self.0;
        let directory = inner.workspace.find(command.cwd.as_deref().unwrap_or(".")).and_then(|spot| spot.open_dir());
        let directory = directory.map_err(as_cwd)?;
        let path = directory.absolute();
        let identity = rustix::fs::fstat(directory.as_fd()).map_err(Error::internal)?;
        let search_path = reach.variables.get("PATH").map_or("", String::as_str);
        let name = if command.shell { program::SHELL } else { &command.program };
        let program = program::find(name, search_path, &path)?;
        program::allow(&program, &inner.settings, search_path)?;
        let masks = if ground.hides_names() {
            inner.scan.lock().unwrap_or_else(PoisonError::into_inner).masks(&inner.workspace)?
        } else {
            Vec::new()
        };
        let tmp = if ground.hides_names() { None } else { Some(PrivateDir::make().map_err(Error::internal)?) };
        let usual = self.usual_variables(reach, tmp.as_ref().map_or(Path::new("/tmp"), PrivateDir::path));
        Ok(Prepared {
            program: text(program.as_os_str().as_bytes())?,
            arguments: arguments(command)?,
            environment: environment::build(usual, &inner.settings.env, &command.env)?,
            directory: text(path.as_os_str().as_bytes())?,
            directory_identity: (identity.st_dev, identity.st_ino),
            masks,
            limits: limits::of(&inner.settings, ground.hides_names()),
            tmp,
        })
    }

    fn usual_variables(&self, reach: &Reach, tmp: &Path) -> BTreeMap<String, String> {
        let mut usual =
            if self.0.settings.sandbox == SandboxMode::Off { BTreeMap::new() } else { reach.variables.clone() };
        usual.insert("PATH".into(), reach.variables.get("PATH").cloned().unwrap_or_default());
        for name in ["LANG", "LC_ALL", "TZ", "USER", "LOGNAME"] {
            if let Ok(value) = std::env::var(name) {
                usual.insert(name.into(), value);
            }
        }
        let home = self.0.settings.home.clone().unwrap_or_else(|| tmp.join("home"));
        usual.insert("HOME".into(), home.to_string_lossy().into_owned());
        usual.insert("TMPDIR".into(), tmp.to_string_lossy().into_owned());
        usual.insert("SHELL".into(), program::SHELL.into());
        usual.insert("TERM".into(), "xterm-256color".into());
        usual
    }
}

/// What was found out on the file system.
struct Prepared {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    directory_identity: (u64, u64),
    masks: Vec<Mask>,
    limits: Vec<(libc::c_uint, u64)>,
    tmp: Option<PrivateDir>,
}

impl Prepared {
    fn into_plan(
        self,
        ground: Arc<Ground>,
        line: OwnedFd,
        streams: Vec<OwnedFd>,
        terminal: Option<Size>,
    ) -> io::Result<(Plan, Option<PrivateDir>)> {
        let tmp = self.tmp.as_ref().map(|tmp| std::fs::File::open(tmp.path())).transpose()?;
        let plan = Plan::new(ground, self.program, self.arguments, self.environment, line)
            .in_directory(self.directory, self.directory_identity)
            .with_streams(streams, terminal)
            .with_bounds(self.masks, self.limits)
            .with_tmp(tmp.map(OwnedFd::from));
        Ok((plan, self.tmp))
    }
}

/// The server's ends of the standard streams.
#[derive(Default)]
struct Ours {
    input: Option<pipe::Sender>,
    output: Option<pipe::Receiver>,
    errors: Option<pipe::Receiver>,
}

fn streams(command: &Command) -> io::Result<(Ours, Vec<OwnedFd>)> {
    if command.terminal.is_some() {
        return Ok((Ours::default(), Vec::new()));
    }
    let flags = rustix::pipe::PipeFlags::CLOEXEC;
    let (output, their_output) = rustix::pipe::pipe_with(flags)?;
    let (errors, their_errors) = rustix::pipe::pipe_with(flags)?;
    let (input, their_input) = if command.piped {
        let (their_input, input) = rustix::pipe::pipe_with(flags)?;
        (Some(pipe::Sender::from_owned_fd(input)?), their_input)
    } else {
        (None, std::fs::File::open("/dev/null")?.into())
    };
    let ours = Ours {
        input,
        output: Some(pipe::Receiver::from_owned_fd(output)?),
        errors: Some(pipe::Receiver::from_owned_fd(errors)?),
    };
    Ok((ours, vec![their_input, their_output, their_errors]))
}

/// Waits until the command is running, or has been given up.
async fn follow(mut child: Child) -> io::Result<Result<Child, Failure>> {
    loop {
        match child.line.receive().await? {
            Some((Message::Started, _)) => return Ok(Ok(child)),
            Some((Message::Failed(failure), _)) => {
                if let Some(tree) = &mut child.tree {
                    tree.gone().await?;
                }
                return Ok(Err(failure));
            }
            Some((Message::Terminal, handle)) => {
                child.terminal = handle.map(Terminal::new).transpose()?.map(Arc::new);
            }
            Some((Message::Ended { .. }, _)) => {}
            None => return Err(io::Error::other("the process that watches over a command ended before it began")),
        }
    }
}

fn arguments(command: &Command) -> Result<Vec<CString>> {
    let first: Vec<&str> =
        if command.shell { vec!["sh", "-c", &command.program, "sh"] } else { vec![&command.program] };
    let all = first.into_iter().chain(command.args.iter().map(String::as_str));
    all.map(|argument| CString::new(argument).map_err(|_| Error::field("args", "An argument has a NUL in it.")))
        .collect()
}

fn text(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(Error::internal)
}

/// The path was the working directory, and a caller looks for it under that name.
fn as_cwd(error: Error) -> Error {
    if matches!(error.kind, Kind::Invalid | Kind::NotFound) { Error::field("cwd", error.public) } else { error }
}

fn refusal(command: &Command, failure: Failure) -> Error {
    let name = if command.shell { program::SHELL } else { &command.program };
    match (failure.step, failure.errno) {
        (Step::Program, libc::ENOENT | libc::ENOTDIR) => Error::field(
            "command",
            format!("{name:?} is not there for a command to run, or the interpreter it names is not."),
        ),
        (Step::Program, libc::EACCES | libc::EPERM) => {
            Error::denied(format!("{name:?} is not executable, or commands may not reach it."))
        }
        (Step::Program, libc::ENOEXEC) => {
            Error::field("command", format!("{name:?} is not a program of this machine."))
        }
        (Step::Program, libc::E2BIG) => {
            Error::field("args", "The arguments and variables are longer than the system takes.")
        }
        (Step::Directory, libc::ENOENT | libc::ESTALE | libc::ENOTDIR) => {
            Error::field("cwd", "The working directory was moved or removed while the command was being started.")
        }
        (Step::Directory, libc::EACCES) => Error::denied("The working directory may not be entered by commands."),
        _ => Error::unavailable(format!(
            "The command was not run, because it could not be confined as promised: {failure}. `mainstay doctor` says \
             what this machine can enforce."
        )),
    }
}
