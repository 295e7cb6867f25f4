//! From a plan to a running command: one thread of the server, and three processes.
//!
//! The kernel ends a supervisor when the thread that started it ends (`PR_SET_PDEATHSIG`), so the thread lives as long as
//! the server. Where control groups of threads are available, it is in one with limits, which its children inherit.
//!
//! The first process enters the namespaces and starts the second in them; it shares the server's memory, as with
//! `vfork`, so that nothing is copied. The second supervises the command: it is the first process of its process
//! namespace, and when it ends the kernel ends all others there. The third becomes the command. What runs in these
//! processes does not allocate.

#![expect(unsafe_code, reason = "the processes start at function pointers")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, mpsc};

use mainstay_core::{Error, Result};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tokio::sync::oneshot;

use super::child::abandon;
use super::init;
use super::plan::{Launch, Plan};
use crate::exec::ExecSettings;
use crate::exec::linux::cgroup::Cgroup;
use crate::exec::linux::confinement::Confinement;
use crate::exec::linux::failure::{Failure, InPhase as _, Phase};
use crate::exec::linux::limits::memory_limit;
use crate::exec::linux::mounts::Namespaces;
use crate::exec::linux::syscalls::{self, NOT_OPEN};
use crate::exec::private_dir::PrivateDir;
use crate::exec::visibility::Visibility;

/// Stacks of the three processes, until they have memory of their own.
type Stacks = [Vec<u8>; 3];

/// Enough for processes that only make system calls.
const STACK_SIZE: usize = 128 * 1024;

/// The handle of a supervisor, and the temporary directory of its command.
type Launched = Result<(OwnedFd, Option<PrivateDir>), Failure>;

/// A command for the thread to start.
struct Job {
    plan: Plan,
    tmp: Option<PrivateDir>,
    reply: oneshot::Sender<Launched>,
}

/// The handle of the thread; it ends when this is dropped.
pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

impl Spawner {
    /// Starts the thread, which finds out what this machine can enforce. It joins the control group first, so that every
    /// command inherits the limits.
    pub(crate) async fn start(
        settings: &ExecSettings,
        visibility: Arc<Visibility>,
        namespaces: bool,
    ) -> Result<(Self, Confinement)> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (reply, answer) = oneshot::channel();
        let settings = settings.clone();
        let body = move || {
            let cgroup = Cgroup::join(settings.processes, memory_limit(&settings));
            let mut stacks = Stacks::default().map(|_| vec![0; STACK_SIZE]);
            let found = Confinement::probe(&settings, &visibility, namespaces, &mut stacks[0], cgroup.as_ref());
            let _ = reply.send(found);
            for job in queue {
                job.start(&mut stacks);
            }
        };
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(body)
            .map_err(|error| Error::internal(format!("no thread to start commands from: {error}")))?;
        Ok((Self { jobs }, answer.await.map_err(|_| thread_ended())??))
    }

    /// Starts a command. Everything slow has been done before, because other commands wait for this thread too.
    pub(crate) async fn launch(&self, plan: Plan, tmp: Option<PrivateDir>) -> Result<Launched> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(Job { plan, tmp, reply }).map_err(|_| thread_ended())?;
        answer.await.map_err(|_| thread_ended())
    }
}

impl Job {
    fn start(mut self, stacks: &mut Stacks) {
        // The caller may have given up before its turn.
        if self.reply.is_closed() {
            return;
        }
        let launched = launch(&mut self.plan, stacks).map(|pidfd| (pidfd, self.tmp));
        if let Err(Ok((pidfd, tmp))) = self.reply.send(launched) {
            abandon(pidfd, self.plan.confinement.namespaces.is_some(), tmp);
        }
    }
}

fn thread_ended() -> Error {
    Error::internal("the thread that starts commands has ended")
}

/// Starts the supervisor, which then starts the command. Returns the supervisor's handle (pidfd).
fn launch(plan: &mut Plan, stacks: &mut Stacks) -> Result<OwnedFd, Failure> {
    let (arguments, environment) = (pointers(&plan.arguments), pointers(&plan.environment));
    let namespaces = plan.confinement.namespaces.is_some();
    let [enter_stack, init_stack, command_stack] = stacks;
    let mut launch = Launch {
        plan,
        arguments: &arguments,
        environment: &environment,
        command_stack,
        init_stack,
        pidfd: NOT_OPEN,
        failure: None,
        terminal: None,
    };
    // A signal handler of the server must not run in a process that shares its memory.
    let mask = syscalls::block_signals(true);
    let started = if namespaces { through_namespaces(&mut launch, enter_stack) } else { start_init(&mut launch, 0) };
    syscalls::restore_signals(&mask);
    started?;
    // SAFETY: the kernel has just opened it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(launch.pidfd) })
}

/// The form that `execve` takes: pointers, and a null at the end. Built before the fork, because it allocates.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Starts the supervisor from a process that has entered the namespaces. That process shares the table of open files
/// (`CLONE_FILES`), so that the handle of the supervisor is opened for the server.
fn through_namespaces(launch: &mut Launch<'_>, stack: &mut [u8]) -> Result<(), Failure> {
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    let argument = std::ptr::from_mut(launch).cast();
    let process =
        syscalls::clone(enter, stack, SHARED | libc::SIGCHLD, argument, &mut { NOT_OPEN }).during(Phase::Namespaces)?;
    let _ = syscalls::wait(process, 0);
    match launch.failure {
        None if launch.pidfd == NOT_OPEN => Err(Failure { phase: Phase::Namespaces, errno: libc::ECHILD }),
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

extern "C" fn enter(argument: *mut c_void) -> c_int {
    // SAFETY: the caller waits, and touches it only when this process has ended.
    let launch = unsafe { &mut *argument.cast::<Launch<'_>>() };
    launch.failure = enter_and_start_init(launch).err();
    0
}

fn enter_and_start_init(launch: &mut Launch<'_>) -> Result<(), Failure> {
    let confinement = &launch.plan.confinement;
    let Some(namespaces) = &confinement.namespaces else { return Ok(()) };
    enter_namespaces(namespaces, confinement.own_network).during(Phase::Namespaces)?;
    // The supervisor becomes a child of the server's thread, which outlives this process.
    start_init(launch, libc::CLONE_PARENT)
}

/// The user namespace comes first: entering the others needs the capabilities it grants.
fn enter_namespaces(namespaces: &Namespaces, own_network: bool) -> rustix::io::Result<()> {
    move_into_link_name_space(namespaces.user.as_fd(), Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(namespaces.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    move_into_link_name_space(namespaces.host_name.as_fd(), Some(LinkNameSpaceType::HostNameAndNISDomainName))?;
    if own_network {
        move_into_link_name_space(namespaces.network.as_fd(), Some(LinkNameSpaceType::Network))?;
    }
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    // SAFETY: the table of open files stays shared, which is what could be unsafe to give up.
    unsafe { rustix::thread::unshare_unsafe(own) }
}

/// Starts the supervisor with a copy of the memory, and a handle that never means another process.
fn start_init(launch: &mut Launch<'_>, relation: c_int) -> Result<(), Failure> {
    let argument = std::ptr::from_mut(launch).cast();
    let flags = relation | libc::CLONE_PIDFD | libc::SIGCHLD;
    let stack = std::ptr::from_mut::<[u8]>(launch.init_stack);
    let mut pidfd = NOT_OPEN;
    // SAFETY: nobody else uses the stack; the new process works on a copy of it.
    let started = syscalls::clone(begin_init, unsafe { &mut *stack }, flags, argument, &mut pidfd);
    launch.pidfd = pidfd;
    started.during(Phase::Init).map(drop)
}

extern "C" fn begin_init(argument: *mut c_void) -> c_int {
    // SAFETY: a copy that belongs to this process alone.
    init::supervise(unsafe { &mut *argument.cast::<Launch<'_>>() })
}
