//! Starts commands: a command becomes a plan, and the plan a process.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

use super::child::{Child, Terminal};
use super::confinement::Confinement;
use super::failure::{Failure, Message, Phase};
use super::limits::limits;
use super::masks::ProtectedScan;
use super::process::{Channel, Plan, ProcessTree, Spawner, TABLE_SIZE};
use crate::exec::command::Command;
use crate::exec::output::pipes::{Pipes, create_pipes};
use crate::exec::private_dir::PrivateDir;
use crate::exec::protections::Protections;
use crate::exec::settings::{ExecSettings, SandboxMode};
use crate::exec::visibility::Visibility;
use crate::exec::{environment, program};
use crate::identity::FileId;
use crate::workspace::Workspace;

/// Starts commands and confines them. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: ExecSettings,
    namespaces: bool,
    base: OnceCell<Base>,
    scan: Arc<Mutex<ProtectedScan>>,
}

/// What is found out and set up when the first command is run.
struct Base {
    spawner: Spawner,
    confinement: Arc<Confinement>,
    visibility: Arc<Visibility>,
}

/// How often a command is tried if protected names keep moving while it is being started.
const ATTEMPTS: usize = 5;

impl Sandbox {
    /// Sets nothing up before the first command.
    pub fn new(workspace: Workspace, settings: ExecSettings) -> Self {
        Self::build(workspace, settings, true)
    }

    /// As on a machine that does not allow namespaces.
    pub fn without_namespaces(workspace: Workspace, settings: ExecSettings) -> Self {
        Self::build(workspace, settings, false)
    }

    fn build(workspace: Workspace, settings: ExecSettings, namespaces: bool) -> Self {
        let scan = Arc::new(Mutex::new(ProtectedScan::new(&settings)));
        Self(Arc::new(Inner { workspace, settings, namespaces, base: OnceCell::new(), scan }))
    }

    /// The settings that all commands share.
    pub fn settings(&self) -> &ExecSettings {
        &self.0.settings
    }

    /// The protections of every command; an error says why none can be run.
    pub async fn protections(&self) -> Result<Protections> {
        self.base().await.map(|base| base.confinement.protections.clone())
    }

    async fn base(&self) -> Result<&Base> {
        self.0
            .base
            .get_or_try_init(|| async {
                let inner = &self.0;
                let visibility = Arc::new(Visibility::new(&inner.workspace, &inner.settings));
                let spawner = Spawner::start(&inner.settings)?;
                let confinement = spawner.probe(&inner.settings, visibility.clone(), inner.namespaces).await?;
                if !confinement.hides_names() {
                    tokio::task::spawn_blocking(PrivateDir::remove_leftovers).await.map_err(Error::internal)?;
                }
                Ok(Base { spawner, confinement: Arc::new(confinement), visibility })
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
                Err(failure) if failure.phase == Phase::Moved && attempt < ATTEMPTS => attempt += 1,
                Err(failure) => return Err(refusal(command, failure)),
            }
        }
    }

    async fn attempt(&self, base: &Base, command: &Command) -> Result<Result<Child, Failure>> {
        let (channel, theirs) = Channel::pair().map_err(Error::internal)?;
        let (pipes, streams) = create_pipes(command).map_err(Error::internal)?;
        let (sandbox, confinement, visibility) = (self.clone(), base.confinement.clone(), base.visibility.clone());
        let command = command.clone();
        let namespace = confinement.hides_names();
        // The scan of another command may take long; the caller's timeout covers this wait.
        let scan = if namespace { Some(self.0.scan.clone().lock_owned().await) } else { None };
        let prepare = move || sandbox.plan(confinement, &visibility, &command, scan, theirs, streams);
        let (plan, tmp) = tokio::task::spawn_blocking(prepare).await.map_err(Error::internal)??;
        let (pidfd, tmp) = match base.spawner.launch(plan, tmp).await? {
            Ok(started) => started,
            Err(failure) => return Ok(Err(failure)),
        };
        let Pipes { input, output, errors } = pipes;
        let processes = Some(ProcessTree::new(pidfd, namespace, tmp).map_err(Error::internal)?);
        let channel = Arc::new(channel);
        wait_for_start(Child { input, output, errors, terminal: None, channel, processes, status: None })
            .await
            .map_err(Error::internal)
    }

    /// Prepares everything that has to do with the file system.
    fn plan(
        &self,
        confinement: Arc<Confinement>,
        visibility: &Visibility,
        command: &Command,
        scan: Option<OwnedMutexGuard<ProtectedScan>>,
        channel: OwnedFd,
        streams: Vec<OwnedFd>,
    ) -> Result<(Plan, Option<PrivateDir>)> {
        let Inner { workspace, settings, .. } = &*self.0;
        let directory = command.directory(workspace)?;
        let path = directory.absolute();
        let search_path = visibility.variables.get("PATH").map_or("", String::as_str);
        let program = command.file(search_path, &path, settings)?;
        check_closed_dirs(workspace, visibility, settings, &confinement)?;
        let masks = match scan {
            Some(mut scan) => scan.masks(workspace, visibility)?,
            None => Vec::new(),
        };
        let tmp = if confinement.hides_names() { None } else { Some(PrivateDir::create().map_err(Error::internal)?) };
        let tmp_path = tmp.as_ref().map_or(Path::new("/tmp"), PrivateDir::path);
        let defaults = environment::defaults(settings, visibility, tmp_path);
        let tmp_handle = tmp.as_ref().map(|tmp| File::open(tmp.path())).transpose().map_err(Error::internal)?;
        let plan = Plan {
            program: c_string(program.as_os_str().as_bytes())?,
            arguments: command.arguments()?,
            environment: environment::build(defaults, &settings.env, &command.env)?,
            directory: c_string(path.as_os_str().as_bytes())?,
            directory_id: FileId::of(&directory).map_err(Error::internal)?,
            streams,
            terminal: command.terminal,
            channel,
            masks,
            ruleset: confinement.ruleset(tmp_handle.map(OwnedFd::from))?,
            limits: limits(settings, confinement.hides_names()),
            process_table: if confinement.is_confined() { Vec::new() } else { vec![0; TABLE_SIZE] },
            confinement,
        };
        Ok((plan, tmp))
    }
}

/// Waits until the command is running, or could not be started.
async fn wait_for_start(mut child: Child) -> io::Result<Result<Child, Failure>> {
    loop {
        match child.channel.receive().await? {
            Some((Message::Started, _)) => return Ok(Ok(child)),
            Some((Message::Failed(failure), _)) => {
                if let Some(processes) = &mut child.processes {
                    processes.wait().await?;
                }
                return Ok(Err(failure));
            }
            Some((Message::Terminal, handle)) => {
                child.terminal = handle.map(Terminal::new).transpose()?.map(Arc::new);
            }
            Some((Message::Ended { .. }, _)) => {}
            None => return Err(io::Error::other("the supervisor of a command ended before the command was started")),
        }
    }
}

fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(Error::internal)
}

/// The error for a command that could not be started: the caller's fault, or the machine's.
fn refusal(command: &Command, failure: Failure) -> Error {
    if failure.phase == Phase::Program
        && let Some(error) = program::refusal(command.name(), failure.errno)
    {
        return error;
    }
    match (failure.phase, failure.errno) {
        (Phase::Directory, libc::ENOENT | libc::ESTALE | libc::ENOTDIR) => {
            Error::field("cwd", "The working directory was moved or removed while the command was being started.")
        }
        (Phase::Directory, libc::EACCES) => Error::denied("Commands may not enter the working directory."),
        _ => Error::unavailable(format!(
            "The command was not run, because it could not be confined as promised: {failure}. `mainstay doctor` \
             reports what this machine can enforce."
        )),
    }
}

/// Refuses commands if the server's own directories are visible to them and cannot be hidden.
fn check_closed_dirs(
    workspace: &Workspace,
    visibility: &Visibility,
    settings: &ExecSettings,
    confinement: &Confinement,
) -> Result<()> {
    if settings.sandbox == SandboxMode::Off || confinement.hides_names() {
        return Ok(());
    }
    let mut closed = workspace.closed().iter();
    match closed.find_map(|closed| Some((&closed.path, &visibility.around(&closed.path)?.path))) {
        Some((path, around)) => Err(Error::unavailable(format!(
            "The server's own directory {} is inside {}, which is visible to commands, and without namespaces it \
             cannot be hidden from them; choose another with --data-dir.",
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
    use crate::settings::FilesSettings;

    #[tokio::test]
    async fn a_callers_timeout_covers_the_wait_for_another_commands_scan() {
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
