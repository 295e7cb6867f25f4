//! Starting commands: what is asked for becomes a plan, and the plan a process.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

use super::child::{Child, Terminal};
use super::command::{Command, TerminalSize};
use super::linux::{Failure, Ground, Line, Mask, Message, Plan, Spawner, Step, Tree, limits};
use super::masks::Scan;
use super::private_dir::PrivateDir;
use super::protections::Protections;
use super::reach::Reach;
use super::settings::{ExecSettings, SandboxMode};
use super::streams::streams;
use super::{environment, program};
use crate::Workspace;
use crate::identity::FileId;

/// The door through which commands are started.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: ExecSettings,
    namespaces: bool,
    base: OnceCell<Base>,
    scan: Arc<Mutex<Scan>>,
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
        let scan = Arc::new(Mutex::new(Scan::new(&settings)));
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
                let ground = Arc::new(spawner.find(&inner.settings, reach.clone(), inner.namespaces).await?);
                if !ground.hides_names() {
                    tokio::task::spawn_blocking(PrivateDir::forget_old).await.map_err(Error::internal)?;
                }
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
        let whole = base.ground.hides_names();
        // Others may be looking, and however long that takes, a caller can give up waiting for it.
        let scan = if whole { Some(self.0.scan.clone().lock_owned().await) } else { None };
        let prepare = move || {
            let prepared = sandbox.prepare(&ground, &reach, &wanted, scan)?;
            prepared.into_plan(ground, theirs, streams, wanted.terminal).map_err(Error::internal)
        };
        let (plan, tmp) = tokio::task::spawn_blocking(prepare).await.map_err(Error::internal)??;
        let (process, tmp) = match base.spawner.launch(plan, tmp).await? {
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

    /// Everything that has to do with the file system. Where names can be hidden they are looked for.
    fn prepare(
        &self,
        ground: &Ground,
        reach: &Reach,
        command: &Command,
        scan: Option<OwnedMutexGuard<Scan>>,
    ) -> Result<Prepared> {
        let inner = &self.0;
        let directory = command.directory(&inner.workspace)?;
        let path = directory.absolute();
        let identity = FileId::of(&directory).map_err(Error::internal)?;
        let search_path = reach.variables.get("PATH").map_or("", String::as_str);
        let program = command.file(search_path, &path, &inner.settings)?;
        refuse_open_secrets(&inner.workspace, reach, &inner.settings, ground)?;
        let masks = match scan {
            Some(mut scan) => scan.masks(&inner.workspace, reach)?,
            None => Vec::new(),
        };
        let tmp = if ground.hides_names() { None } else { Some(PrivateDir::make().map_err(Error::internal)?) };
        let tmp_path = tmp.as_ref().map_or(Path::new("/tmp"), PrivateDir::path);
        let usual = environment::usual(&inner.settings, reach, tmp_path);
        Ok(Prepared {
            program: text(program.as_os_str().as_bytes())?,
            arguments: command.arguments()?,
            environment: environment::build(usual, &inner.settings.env, &command.env)?,
            directory: text(path.as_os_str().as_bytes())?,
            directory_identity: identity,
            masks,
            limits: limits(&inner.settings, ground.hides_names()),
            tmp,
        })
    }
}

/// What was found out on the file system.
struct Prepared {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    directory_identity: FileId,
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
        terminal: Option<TerminalSize>,
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

fn text(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(Error::internal)
}

fn refusal(command: &Command, failure: Failure) -> Error {
    if failure.step == Step::Program
        && let Some(error) = program::refusal(command.name(), failure.errno)
    {
        return error;
    }
    match (failure.step, failure.errno) {
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

/// The server's own files must not be in a command's reach. Where they cannot be hidden, there is no command.
fn refuse_open_secrets(workspace: &Workspace, reach: &Reach, settings: &ExecSettings, ground: &Ground) -> Result<()> {
    if settings.sandbox == SandboxMode::Off || ground.hides_names() {
        return Ok(());
    }
    let mut closed = workspace.closed().iter();
    match closed.find_map(|closed| Some((&closed.path, &reach.around(&closed.path)?.path))) {
        Some((path, around)) => Err(Error::unavailable(format!(
            "The server's own directory {} lies in {}, which commands may reach, and without namespaces it cannot be \
             hidden from them; choose another with --data-dir.",
            path.display(),
            around.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::FilesSettings;

    #[tokio::test]
    async fn a_callers_time_covers_the_wait_for_somebody_elses_scan() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sandbox = Sandbox::new(workspace, ExecSettings::default());
        assert_eq!(sandbox.protections().await.unwrap().level, "namespaces");
        let command = Command { program: "true".into(), ..Command::default() };
        let slow = sandbox.0.scan.clone().lock_owned().await;
        let late = sandbox.run(&command, None, Duration::from_millis(50), None).await.unwrap();
        assert!(late.timed_out, "{late:?}");
        drop(slow);
        let done = sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
        assert_eq!((done.timed_out, done.status.code), (false, 0));
    }
}
