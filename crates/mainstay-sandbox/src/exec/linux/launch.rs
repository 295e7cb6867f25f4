//! From a plan to a running command, in three processes.
//!
//! The first enters the namespaces and makes the second in them; it shares the server's memory, as `vfork` does, so
//! that nothing is copied. The second watches over the command: the first process of its process namespace, with whose
//! end the kernel ends all others. The third becomes the command. Nothing here allocates.

#![expect(unsafe_code, reason = "the processes begin where a pointer leads")]

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use libc::{c_char, c_int, c_void};

use super::init;
use super::plan::{At as _, Failure, NOT_OPEN, Plan, Process, Step, pointers};
use super::stage::Stage;
use super::sys;

/// Room for the processes until they have memory of their own.
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

    pub(super) fn any(&mut self) -> &mut [u8] {
        &mut self.enter
    }
}

pub(super) struct Launch<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) arguments: &'a [*const c_char],
    pub(super) environment: &'a [*const c_char],
    pub(super) command_stack: &'a mut [u8],
    init_stack: &'a mut [u8],
    handle: RawFd,
    /// Set by a process that shares this memory.
    pub(super) failure: Option<Failure>,
    pub(super) terminal: RawFd,
}

/// Starts the process that watches over the command, which then starts the command.
pub(super) fn launch(plan: &mut Plan, stacks: &mut Stacks) -> Result<Process, Failure> {
    let (arguments, environment) = (pointers(&plan.arguments), pointers(&plan.environment));
    let staged = plan.ground.stage.is_some();
    let mut launch = Launch {
        plan,
        arguments: &arguments,
        environment: &environment,
        command_stack: &mut stacks.command,
        init_stack: &mut stacks.init,
        handle: NOT_OPEN,
        failure: None,
        terminal: NOT_OPEN,
    };
    // A handler of the server's must not run in a process that shares its memory.
    let mask = sys::block_signals(true);
    let made = if staged { by_way_of_namespaces(&mut launch, &mut stacks.enter) } else { make_init(&mut launch, 0) };
    sys::restore_signals(&mask);
    made?;
    // SAFETY: the kernel has just given it, and nobody else knows it.
    let handle = unsafe { OwnedFd::from_raw_fd(launch.handle) };
    Ok(Process { handle })
}

/// The handle of the new process is to be the server's: so the table of open files is shared as well.
fn by_way_of_namespaces(launch: &mut Launch<'_>, stack: &mut [u8]) -> Result<(), Failure> {
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    let argument = std::ptr::from_mut(launch).cast();
    let process = sys::clone(enter, stack, SHARED | libc::SIGCHLD, argument, &mut { NOT_OPEN }).at(Step::Namespaces)?;
    let _ = sys::reap_one(process);
    match launch.failure {
        None if launch.handle == NOT_OPEN => Err(Failure { step: Step::Namespaces, errno: libc::ECHILD }),
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

extern "C" fn enter(argument: *mut c_void) -> c_int {
    // SAFETY: the caller waits, and touches it only when this process has ended.
    let launch = unsafe { &mut *argument.cast::<Launch<'_>>() };
    launch.failure = enter_and_go_on(launch).err();
    0
}

fn enter_and_go_on(launch: &mut Launch<'_>) -> Result<(), Failure> {
    let Some(stage) = &launch.plan.ground.stage else { return Ok(()) };
    enter_namespaces(stage, launch.plan.ground.own_network).at(Step::Namespaces)?;
    make_init(launch, libc::CLONE_PARENT)
}

fn enter_namespaces(stage: &Stage, own_network: bool) -> sys::Outcome {
    sys::setns(stage.user.as_raw_fd(), libc::CLONE_NEWUSER)?;
    sys::setns(stage.mounts.as_raw_fd(), libc::CLONE_NEWNS)?;
    sys::setns(stage.names.as_raw_fd(), libc::CLONE_NEWUTS)?;
    if own_network {
        sys::setns(stage.network.as_raw_fd(), libc::CLONE_NEWNET)?;
    }
    sys::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC)
}

fn make_init(launch: &mut Launch<'_>, relation: c_int) -> Result<(), Failure> {
    let argument = std::ptr::from_mut(launch).cast();
    let flags = relation | libc::CLONE_PIDFD | libc::SIGCHLD;
    let stack = std::ptr::from_mut::<[u8]>(launch.init_stack);
    let mut handle = NOT_OPEN;
    // SAFETY: the stack is used by nobody else; the new process works on a copy of it.
    let made = sys::clone(begin_init, unsafe { &mut *stack }, flags, argument, &mut handle);
    launch.handle = handle;
    made.at(Step::Init).map(drop)
}

extern "C" fn begin_init(argument: *mut c_void) -> c_int {
    // SAFETY: a copy that belongs to this process alone.
    init::watch(unsafe { &mut *argument.cast::<Launch<'_>>() })
}
