//! From a plan to a running command, in three processes.
//!
//! The first enters the namespaces and starts the second in them; it shares the server's memory, as with `vfork`, so
//! that nothing is copied. The second supervises the command: it is the first process of its process namespace, and
//! when it ends the kernel ends all others there. The third becomes the command. Nothing here allocates.

#![expect(unsafe_code, reason = "the processes start at function pointers")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::init;
use super::plan::{Launch, Plan};
use crate::exec::linux::failure::{Failure, InPhase as _, Phase};
use crate::exec::linux::mounts::Namespaces;
use crate::exec::linux::syscalls::{self, NOT_OPEN};

/// Stacks of the processes, until they have memory of their own.
pub(super) struct Stacks {
    enter: Vec<u8>,
    init: Vec<u8>,
    command: Vec<u8>,
}

impl Stacks {
    pub(super) fn new() -> Self {
        let stack = || vec![0; 128 * 1024];
        Self { enter: stack(), init: stack(), command: stack() }
    }

    /// A stack for another process, while no command is being started.
    pub(super) fn any(&mut self) -> &mut [u8] {
        &mut self.enter
    }
}

/// Starts the supervisor, which then starts the command. Returns the supervisor's handle (pidfd).
pub(super) fn launch(plan: &mut Plan, stacks: &mut Stacks) -> Result<OwnedFd, Failure> {
    let (arguments, environment) = (pointers(&plan.arguments), pointers(&plan.environment));
    let namespaces = plan.confinement.namespaces.is_some();
    let mut launch = Launch {
        plan,
        arguments: &arguments,
        environment: &environment,
        command_stack: &mut stacks.command,
        init_stack: &mut stacks.init,
        pidfd: NOT_OPEN,
        failure: None,
        terminal: None,
    };
    // A signal handler of the server must not run in a process that shares its memory.
    let mask = syscalls::block_signals(true);
    let started =
        if namespaces { through_namespaces(&mut launch, &mut stacks.enter) } else { start_init(&mut launch, 0) };
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
