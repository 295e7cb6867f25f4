//! The supervisor of a command: sets up the mounts, starts the command, passes signals on, and when the command has
//! ended, or the server has, it leaves nothing of the command running.
//!
//! It runs on a copy of the server's memory, after a fork of a process with many threads: no allocation, no locks.

#![expect(unsafe_code, reason = "the command starts at a function pointer")]

use std::ffi::{c_int, c_void};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, IntoRawFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{DumpableBehavior, Signal};
use rustix::pty::OpenptFlags;
use rustix::stdio;

use super::plan::{Launch, Plan};
use super::{exec, kill_tree};
use crate::exec::TerminalSize;
use crate::exec::linux::failure::{Failure, InPhase as _, Message, Phase, Result};
use crate::exec::linux::syscalls::{self, NOT_OPEN};
use crate::exec::linux::{landlock, mounts};

/// Starts the command and stays with it. Never returns: the process ends here.
pub(super) fn supervise(launch: &mut Launch<'_>) -> ! {
    match start(launch) {
        Err(failure) => {
            send(launch.plan.channel.as_fd(), Message::Failed(failure));
            syscalls::exit(1)
        }
        Ok((command, processes)) => wait_for_end(launch.plan, command, processes),
    }
}

/// Best effort: if the server is gone, nobody is left to tell.
fn send(channel: BorrowedFd<'_>, message: Message) {
    let _ = rustix::net::send(channel, message.to_bytes().as_flattened(), SendFlags::NOSIGNAL);
}

/// Returns the command's process number, and the list of processes if they have to be searched for.
fn start(launch: &mut Launch<'_>) -> Result<(libc::pid_t, Option<OwnedFd>), Failure> {
    syscalls::reset_signal_handlers();
    let processes = contain(launch.plan)?;
    // This process has a copy of the server's memory: the command must not be able to read it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Phase::Init)?;
    if let Some(size) = launch.plan.terminal {
        launch.terminal = Some(open_terminal(&launch.plan.channel, size).during(Phase::Terminal)?);
    }
    Ok((start_command(launch)?, processes))
}

/// Makes sure that every process of the command can be ended, before there is one.
///
/// In namespaces, or inside Landlock's signal scope, a signal to everybody reaches the processes of the command and
/// nobody else. Without either, they have to be searched for in the list of the machine's processes, which is returned.
fn contain(plan: &Plan) -> Result<Option<OwnedFd>, Failure> {
    let confinement = &plan.confinement;
    if let Some(namespaces) = &confinement.namespaces {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).during(Phase::Init)?;
        mounts::set_up(namespaces, &confinement.tmp_options, &confinement.max_pid, &plan.pinned, &plan.masks)?;
        return Ok(None);
    }
    // Orphans become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).during(Phase::Init)?;
    match &confinement.signal_scope {
        Some(scope) => {
            rustix::thread::set_no_new_privs(true).during(Phase::Init)?;
            landlock::enforce_signal_scope(scope).during(Phase::Init)?;
            Ok(None)
        }
        None => kill_tree::open_process_list().during(Phase::Init).map(Some),
    }
}

/// Opens a terminal, sends its controlling side to the server, and returns the programs' side.
fn open_terminal(channel: &OwnedFd, size: TerminalSize) -> Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&controller)?;
    let terminal = rustix::pty::ioctl_tiocgptpeer(&controller, flags)?;
    rustix::termios::tcsetwinsize(&controller, size.into())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let carried = [controller.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&carried));
    let bytes = Message::Terminal.to_bytes();
    rustix::net::sendmsg(channel, &[IoSlice::new(bytes.as_flattened())], &mut control, SendFlags::NOSIGNAL)?;
    Ok(terminal)
}

/// Starts a process that shares this one's memory until it has become the command, so that it can report a failure.
fn start_command(launch: &mut Launch<'_>) -> Result<libc::pid_t, Failure> {
    let argument = std::ptr::from_mut(launch).cast();
    let stack = std::ptr::from_mut::<[u8]>(launch.command_stack);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: nobody else uses the stack, and this process waits meanwhile.
    let command = syscalls::clone(begin_command, unsafe { &mut *stack }, flags, argument, &mut { NOT_OPEN })
        .during(Phase::Init)?;
    match launch.failure {
        Some(failure) => Err(failure),
        None => Ok(command),
    }
}

extern "C" fn begin_command(argument: *mut c_void) -> c_int {
    // SAFETY: the supervisor waits until this process has become another program or has ended.
    let launch = unsafe { &mut *argument.cast::<Launch<'_>>() };
    launch.failure = exec::exec(launch).err();
    127
}

/// Waits for the end of the command, or of the server, which shows as the end of the channel.
fn wait_for_end(plan: &mut Plan, command: libc::pid_t, processes: Option<OwnedFd>) -> ! {
    if keep_only(&plan.channel, processes.as_ref()).is_err() {
        kill_rest(plan, processes.as_ref().map(OwnedFd::as_fd), Some(command));
        syscalls::exit(1)
    }
    // The original handle is closed by now, and must not be closed again.
    let processes = processes.map(OwnedFd::into_raw_fd).map(|_| stdio::stderr());
    let (channel, signals) = (stdio::stdin(), stdio::stdout());
    if plan.confinement.namespaces.is_some() {
        // From here on it only waits, so it needs no capability in its namespace.
        let _ = exec::drop_capabilities();
    }
    send(channel, Message::Started);
    loop {
        let mut polled =
            [PollFd::from_borrowed_fd(channel, PollFlags::IN), PollFd::from_borrowed_fd(signals, PollFlags::IN)];
        let _ = rustix::event::poll(&mut polled, None);
        let [request, child_ended] = polled.map(|polled| !polled.revents().is_empty());
        if child_ended {
            let mut buffer = [0u8; 1024];
            while rustix::io::read(signals, &mut buffer).is_ok_and(|read| read > 0) {}
            if let Some(status) = reap_all(command) {
                kill_rest(plan, processes, None);
                send(channel, Message::Ended { status });
                syscalls::exit(0);
            }
        }
        if request && !pass_signal(channel, command, processes.is_none()) {
            kill_rest(plan, processes, Some(command));
            syscalls::exit(1);
        }
    }
}

/// Ends everything that is left of the command. In a namespace the kernel would do it when this process ends, but that
/// takes longer, and the server would not know when it is done.
fn kill_rest(plan: &mut Plan, processes: Option<BorrowedFd<'_>>, group: Option<libc::pid_t>) {
    if let Some(processes) = processes {
        return kill_tree::kill_descendants(processes, group, &mut plan.process_table);
    }
    loop {
        let _ = syscalls::kill(-1, libc::SIGKILL);
        if syscalls::wait(-1, 0) == Err(Errno::CHILD) {
            return;
        }
    }
}

/// Keeps the channel as handle 0, signals as 1 and the list of processes, if there is one, as 2, and closes everything
/// else: a stream of the command that stays open here would never end for its reader.
fn keep_only(channel: &OwnedFd, processes: Option<&OwnedFd>) -> Result<()> {
    // First above the numbers that are about to be replaced.
    let above = |handle: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(handle, 3);
    let (channel, signals) = (above(channel.as_fd())?, above(syscalls::child_signals()?.as_fd())?);
    if let Some(processes) = processes {
        stdio::dup2_stderr(above(processes.as_fd())?)?;
    }
    stdio::dup2_stdin(&channel)?;
    stdio::dup2_stdout(&signals)?;
    drop((channel, signals));
    syscalls::close_from(if processes.is_some() { 3 } else { 2 })
}

/// Reaps every child that has ended; returns the command's status if it is among them.
fn reap_all(command: libc::pid_t) -> Option<c_int> {
    let mut ended = None;
    while let Ok(Some((process, status))) = syscalls::wait(-1, libc::WNOHANG) {
        if process == command {
            ended = Some(status);
        }
    }
    ended
}

/// Passes a signal of the server on to every process of the command; `false` if the server has closed the channel.
fn pass_signal(channel: BorrowedFd<'_>, command: libc::pid_t, contained: bool) -> bool {
    let mut signal = [0];
    match rustix::net::recv(channel, &mut signal, RecvFlags::empty()) {
        Ok((_, 0)) => false,
        Ok(_) => {
            let _ = syscalls::kill(if contained { -1 } else { -command }, c_int::from(signal[0]));
            true
        }
        Err(errno) => errno == Errno::INTR || errno == Errno::AGAIN,
    }
}
