//! Starts commands: a command becomes a plan, and the plan a process.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mainstay_core::{Error, Result};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

use super::confinement::Confinement;
use super::failure::{Failure, Message, Phase};
use super::limits::limits;
use super::masks::ProtectedScan;
use super::mounts::{Mask, MaskKind, PinFinder};
use super::process::{Channel, Child, Plan, ProcessTree, Spawner, TABLE_SIZE, Terminal};
use crate::exec::command::Pipes;
use crate::exec::private_dir::PrivateDir;
use crate::exec::visibility::Visibility;
use crate::exec::{Command, ExecSettings, Protections, SandboxMode, environment, program};
use crate::identity::FileId;
use crate::workspace::Workspace;

/// Starts commands and confines them. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: ExecSettings,
    namespaces: bool,
    base: OnceCell<Arc<Base>>,
}

/// What is found out and set up when the first command is run.
struct Base {
    spawner: Spawner,
    confinement: Arc<Confinement>,
    visibility: Arc<Visibility>,
    /// Finds the protected names, where there are namespaces to hide them in.
    scan: Option<Arc<Mutex<ProtectedScan>>>,
    pins: Option<PinFinder>,
}

/// Why a command was not started.
struct NotStarted {
    failure: Failure,
    /// The protected name that was not where it was to be hidden.
    moved: Option<PathBuf>,
}

impl NotStarted {
    fn new(failure: Failure, masks: &[Mask]) -> Self {
        let nth = usize::try_from(failure.errno).ok().filter(|_| failure.phase == Phase::Moved);
        Self { failure, moved: nth.and_then(|nth| masks.get(nth)).map(|mask| mask.path().to_owned()) }
    }
}

/// How often a command is tried if protected names keep moving while it is being started: another command that renames
/// directories all the time must not keep this one from running.
const ATTEMPTS: usize = 32;

/// After so many, everything is looked at again.
const ATTEMPTS_WITH_NOTICES: usize = 24;

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
        Self(Arc::new(Inner { workspace, settings, namespaces, base: OnceCell::new() }))
    }

    /// The settings that all commands share.
    pub fn settings(&self) -> &ExecSettings {
        &self.0.settings
    }

    /// The protections of every command; an error says why none can be run.
    pub async fn protections(&self) -> Result<Protections> {
        self.base().await.map(|base| base.confinement.protections.clone())
    }

    async fn base(&self) -> Result<&Arc<Base>> {
        let Inner { workspace, settings, namespaces, base } = &*self.0;
        let set_up = || async {
            let visibility = Arc::new(Visibility::new(workspace, settings));
            let (spawner, confinement) = Spawner::start(settings, visibility.clone(), *namespaces).await?;
            let confinement = Arc::new(confinement);
            let (mut scan, mut pins) = (None, None);
            if confinement.namespaces.is_some() {
                let shared = Arc::new(Mutex::new(ProtectedScan::new(workspace, &visibility, settings)?));
                tokio::spawn(follow_changes(Arc::downgrade(&shared)));
                scan = Some(shared);
                pins = Some(PinFinder::new(&visibility, workspace));
            } else {
                check_closed_dirs(workspace, &visibility, settings)?;
                tokio::task::spawn_blocking(PrivateDir::remove_leftovers).await.map_err(Error::internal)?;
            }
            Ok(Arc::new(Base { spawner, confinement, visibility, scan, pins }))
        };
        base.get_or_try_init(set_up).await
    }

    /// Starts a command; when this returns it is running.
    pub async fn start(&self, command: &Command) -> Result<Child> {
        environment::check(&command.env)?;
        let base = self.base().await?;
        let mut attempt = 1;
        loop {
            match self.attempt(base, command).await? {
                Ok(child) => return Ok(child),
                Err(NotStarted { moved: Some(_), .. }) if attempt < ATTEMPTS => {
                    attempt += 1;
                    if let Some(scan) = base.scan.as_ref().filter(|_| attempt == ATTEMPTS_WITH_NOTICES) {
                        scan.lock().await.distrust();
                    }
                }
                Err(NotStarted { moved: Some(name), .. }) => return Err(keeps_moving(&name)),
                Err(NotStarted { failure, moved: None }) => return Err(refusal(command, failure)),
            }
        }
    }

    async fn attempt(&self, base: &Arc<Base>, command: &Command) -> Result<Result<Child, NotStarted>> {
        let (channel, theirs) = Channel::pair().map_err(Error::internal)?;
        let namespaces = base.confinement.namespaces.is_some();
        let (Pipes { input, output, errors }, streams) = command.pipes().map_err(Error::internal)?;
        let (sandbox, shared, command) = (self.clone(), base.clone(), command.clone());
        // The scan of another command may take long; the caller's timeout covers this wait.
        let scan = match &base.scan {
            Some(scan) => Some(scan.clone().lock_owned().await),
            None => None,
        };
        let prepare = move || sandbox.plan(&shared, &command, scan, theirs, streams);
        let (plan, tmp) = tokio::task::spawn_blocking(prepare).await.map_err(Error::internal)??;
        let masks = plan.masks.clone();
        let not_started = |failure| NotStarted::new(failure, &masks);
        let (pidfd, tmp) = match base.spawner.launch(plan, tmp).await? {
            Ok(started) => started,
            Err(failure) => return Ok(Err(not_started(failure))),
        };
        let processes = Some(ProcessTree::new(pidfd, namespaces, tmp).map_err(Error::internal)?);
        let channel = Arc::new(channel);
        let child = Child { input, output, errors, terminal: None, channel, processes, status: None };
        let started = wait_for_start(child).await.map_err(Error::internal)?;
        Ok(started.map_err(not_started))
    }

    /// Prepares everything that has to do with the file system.
    fn plan(
        &self,
        base: &Base,
        command: &Command,
        scan: Option<OwnedMutexGuard<ProtectedScan>>,
        channel: OwnedFd,
        streams: Vec<OwnedFd>,
    ) -> Result<(Plan, Option<PrivateDir>)> {
        let Inner { workspace, settings, .. } = &*self.0;
        let Base { confinement, visibility, .. } = base;
        let namespaces = confinement.namespaces.is_some();
        let directory = command.directory(workspace)?;
        let path = directory.absolute();
        let search_path = visibility.variables.get("PATH").map_or("", String::as_str);
        let program = command.file(search_path, &path, settings)?;
        let masks = scan.map_or_else(|| Ok(Vec::new()), |mut scan| scan.masks())?;
        check_covered(&path, &masks)?;
        let in_place = masks.iter().filter(|mask| mask.keeps_place).map(Mask::path);
        let pinned = base.pins.as_ref().map_or_else(|| Ok(Vec::new()), |pins| pins.find(in_place))?;
        let tmp = if namespaces { None } else { Some(PrivateDir::create().map_err(Error::internal)?) };
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
            masks: Arc::new(masks),
            pinned,
            ruleset: confinement.ruleset(tmp_handle.map(OwnedFd::from))?,
            limits: limits(settings, namespaces),
            process_table: if confinement.confined { Vec::new() } else { vec![0; TABLE_SIZE] },
            confinement: confinement.clone(),
        };
        Ok((plan, tmp))
    }
}

/// How long changes of the workspace may wait to be taken in. The kernel keeps 16,384 notices by default.
const FOLLOWED_WITHIN: Duration = Duration::from_millis(50);

/// The same after a time without changes.
const FOLLOWED_AT_REST: Duration = Duration::from_millis(250);

/// Takes in changes of the workspace while commands run and between them, until the sandbox is dropped.
async fn follow_changes(scan: Weak<Mutex<ProtectedScan>>) {
    let mut pause = FOLLOWED_WITHIN;
    loop {
        tokio::time::sleep(pause).await;
        let Some(scan) = scan.upgrade() else { return };
        // A command that is being started takes in changes itself.
        let Ok(mut scan) = scan.try_lock_owned() else {
            pause = FOLLOWED_WITHIN;
            continue;
        };
        if scan.has_notices() {
            pause = FOLLOWED_WITHIN;
            let _ = tokio::task::spawn_blocking(move || scan.follow()).await;
        } else {
            pause = (pause * 2).min(FOLLOWED_AT_REST);
        }
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

/// The error for a workspace in which something keeps moving a directory. It names the directory, not the name in it.
fn keeps_moving(name: &Path) -> Error {
    Error::unavailable(format!(
        "The command was not run: {} was moved again and again while a protected name in it was being hidden. End the \
         command that moves it, or try again.",
        name.parent().unwrap_or(name).display()
    ))
}

/// Refuses a working directory that is hidden as a whole: the command would find nothing there.
fn check_covered(directory: &Path, masks: &[Mask]) -> Result<()> {
    let mut crowded = masks.iter().filter(|mask| mask.kind == MaskKind::Crowded);
    match crowded.find(|mask| directory.starts_with(mask.path())) {
        Some(mask) => Err(Error::field(
            "cwd",
            format!(
                "{} is hidden from commands, because there are too many protected names below it.",
                mask.path().display()
            ),
        )),
        None => Ok(()),
    }
}

/// Refuses commands if the server's own directories are visible to them: without namespaces they cannot be hidden.
fn check_closed_dirs(workspace: &Workspace, visibility: &Visibility, settings: &ExecSettings) -> Result<()> {
    if settings.sandbox == SandboxMode::Off {
        return Ok(());
    }
    let mut closed = workspace.closed.iter();
    match closed.find_map(|closed| Some((&closed.path, &visibility.around(&closed.path)?.path))) {
        Some((path, around)) => Err(Error::unavailable(format!(
            "The server's own directory {} is inside {}, which is visible to commands, and without namespaces it \
             cannot be hidden from them; choose a smaller workspace with --workspace, or another data directory with --data-dir.",
            path.display(),
            around.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

    use super::*;
    use crate::settings::FilesSettings;

    #[tokio::test]
    async fn a_callers_timeout_covers_the_wait_for_another_commands_scan() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sandbox = Sandbox::new(workspace, ExecSettings::default());
        assert_eq!(sandbox.protections().await.unwrap().level, "namespaces");
        let command = Command { program: "true".into(), ..Command::default() };
        let scan = sandbox.base().await.unwrap().scan.clone().unwrap();
        let slow = scan.lock_owned().await;
        let late = sandbox.run(&command, None, Duration::from_millis(50), None).await.unwrap();
        assert!(late.timed_out, "{late:?}");
        drop(slow);
        let done = sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
        assert_eq!((done.timed_out, done.status.code), (false, 0));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn changes_are_followed_before_the_kernel_drops_notices() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir_all(inner.join("most")).unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sandbox = Sandbox::new(workspace, ExecSettings::default());
        let command = Command { program: "true".into(), ..Command::default() };
        sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
        let scan = sandbox.base().await.unwrap().scan.clone().unwrap();
        let kept = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let kept: usize = kept.trim().parse().unwrap();
        // In all more than the kernel keeps, and half of it at once.
        for number in 0..kept {
            let file = inner.join("file");
            std::fs::write(&file, "").unwrap();
            std::fs::remove_file(&file).unwrap();
            while number % (kept / 4) == 0 && scan.lock().await.has_notices() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&inotify, &inner, WatchFlags::OPEN | WatchFlags::ONLYDIR).unwrap();
        sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let opened = inotify::Reader::new(&inotify, &mut buffer).next().map(|_| ());
        assert_eq!(opened, Err(rustix::io::Errno::AGAIN), "the workspace was searched again");
    }
}
