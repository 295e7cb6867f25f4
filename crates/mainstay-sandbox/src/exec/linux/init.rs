//! The process that watches over a command: it furnishes the namespaces, starts the command, passes signals on, and
//! when the command has ended, or the server is gone, nothing of the command is left.

#![expect(unsafe_code, reason = "the command begins where a pointer leads")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, RawFd};

use libc::{c_int, c_void};

use super::command;
use super::landlock;
use super::launch::Launch;
use super::layout::{Beneath, HIDDEN_DIRECTORY, HIDDEN_FILE};
use super::plan::{At as _, Failure, Mask, Message, NOT_OPEN, Plan, Step};
use super::processes;
use super::stage::Stage;
use super::sweep;
use super::sys::{self, Outcome};

/// What keeps the processes of a command together.
#[derive(Clone, Copy)]
enum Hold {
    /// The kernel: a signal of this process to everybody reaches them and nobody else.
    Domain,
    /// Nothing: they have to be looked for where all processes of the machine are listed.
    Descent { processes: RawFd },
}

/// Never returns: the process ends here.
pub(super) fn watch(launch: &mut Launch<'_>) -> ! {
    let line = launch.plan.line.as_raw_fd();
    match start(launch, line) {
        Err(failure) => {
            let _ = sys::send(line, &Message::Failed(failure).to_bytes());
            sys::exit(1)
        }
        Ok((command, hold)) => attend(launch.plan, command, line, hold),
    }
}

fn start(launch: &mut Launch<'_>, line: RawFd) -> Result<(libc::pid_t, Hold), Failure> {
    sys::default_signals();
    let hold = take_hold(launch.plan)?;
    // This process has a copy of the server's memory: the command may not look into it.
    sys::set(libc::PR_SET_DUMPABLE, 0).at(Step::Init)?;
    if let Some(size) = launch.plan.terminal {
        let (master, slave) = sys::open_terminal().at(Step::Terminal)?;
        sys::set_window(master, size.rows, size.columns).at(Step::Terminal)?;
        sys::send_with(line, &Message::Terminal.to_bytes(), master).at(Step::Terminal)?;
        sys::close(master);
        launch.terminal = slave;
    }
    Ok((start_command(launch)?, hold))
}

/// Before there is a command, so that it cannot be in the way.
fn take_hold(plan: &Plan) -> Result<Hold, Failure> {
    if let Some(stage) = &plan.ground.stage {
        sys::set(libc::PR_SET_PDEATHSIG, 9).at(Step::Init)?;
        furnish(stage, plan)?;
        return Ok(Hold::Domain);
    }
    sys::set(libc::PR_SET_CHILD_SUBREAPER, 1).at(Step::Init)?;
    if plan.ground.confined {
        sys::set(libc::PR_SET_NO_NEW_PRIVS, 1).at(Step::Init)?;
        landlock::keep_signals_in().at(Step::Init)?;
        return Ok(Hold::Domain);
    }
    Ok(Hold::Descent { processes: processes::directory().at(Step::Init)? })
}

/// Shares this process's memory until it has become the command, so that it can say what went wrong.
fn start_command(launch: &mut Launch<'_>) -> Result<libc::pid_t, Failure> {
    let argument = std::ptr::from_mut(launch).cast();
    let stack = std::ptr::from_mut::<[u8]>(launch.command_stack);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: nobody else uses the stack, and this process waits meanwhile.
    let command =
        sys::clone(begin_command, unsafe { &mut *stack }, flags, argument, &mut { NOT_OPEN }).at(Step::Init)?;
    match launch.failure {
        Some(failure) => Err(failure),
        None => Ok(command),
    }
}

extern "C" fn begin_command(argument: *mut c_void) -> c_int {
    // SAFETY: the other process waits until this one has become another program or has ended.
    let launch = unsafe { &mut *argument.cast::<Launch<'_>>() };
    launch.failure = command::become_it(launch).err();
    127
}

/// What every command has for itself: `/tmp`, its processes, its terminals, and no protected names.
fn furnish(stage: &Stage, plan: &Plan) -> Result<(), Failure> {
    mount_tmp(&stage.beneath_tmp, &plan.ground.tmp_options).at(Step::Temporary)?;
    mount_proc(plan.ground.process_ceiling.as_bytes()).at(Step::Processes)?;
    let quiet = libc::MS_NOSUID | libc::MS_NOEXEC;
    sys::mount_new(c"devpts", c"/dev/pts", quiet, c"newinstance,ptmxmode=0666,mode=0620").at(Step::Devices)?;
    plan.masks.iter().try_for_each(hide)
}

/// How many parts of the tree can lie beneath `/tmp`.
pub(super) const MOST_BENEATH: usize = 16;

fn mount_tmp(beneath: &[Beneath], options: &CStr) -> Outcome {
    let mut trees = [NOT_OPEN; MOST_BENEATH];
    for (tree, part) in trees.iter_mut().zip(beneath) {
        *tree = sys::copy_tree(&part.path)?;
    }
    sys::mount_new(c"tmpfs", c"/tmp", libc::MS_NOSUID | libc::MS_NODEV, options)?;
    sys::make_dir(c"/tmp/home", 0o700)?;
    sys::make_dir(c"/tmp/.shm", 0o700)?;
    for (tree, part) in trees.iter().zip(beneath) {
        for parent in &part.parents {
            sys::make_dir(parent, 0o755)?;
        }
        if part.directory {
            sys::make_dir(&part.path, 0o755)?
        } else {
            sys::make_file(&part.path, 0o644)?
        }
        sys::attach(*tree, &part.path)?;
        sys::close(*tree);
    }
    Ok(())
}

/// The machine's own view of its processes makes way for one of the command's. It was brought along because the kernel
/// gives a new one only to those who see a whole one: where parts of it are hidden, there is none at all.
fn mount_proc(ceiling: &[u8]) -> Outcome {
    let view = sys::new_process_view();
    sys::unmount(c"/proc")?;
    let view = match view {
        Ok(view) => view,
        Err(libc::EPERM) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    sys::attach(view, c"/proc")?;
    sys::close(view);
    if !ceiling.is_empty() {
        // Only the owner of the namespace can; other users have a limit of their own.
        let _ = sys::write_file(c"/proc/sys/kernel/pid_max", ceiling);
    }
    // When memory runs out, a command goes before anything else does.
    sys::write_file(c"/proc/self/oom_score_adj", b"1000")?;
    sys::restrict_mount(c"/proc", sys::READ_ONLY)
}

/// Mounts nothing over a protected name, if it still is what was found under it.
fn hide(mask: &Mask) -> Result<(), Failure> {
    let target = match sys::open(&mask.path, libc::O_PATH | libc::O_NOFOLLOW, 0) {
        Err(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => {
            return Err(Failure { step: Step::Moved, errno: libc::ESTALE });
        }
        other => other.at(Step::Mask)?,
    };
    if sys::identity(target).at(Step::Mask)? != mask.identity {
        return Err(Failure { step: Step::Moved, errno: libc::ESTALE });
    }
    let nothing = if mask.directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE };
    let tree = sys::copy_tree(nothing).at(Step::Mask)?;
    let attached = sys::attach_at(tree, target).at(Step::Mask);
    sys::close(tree);
    sys::close(target);
    attached
}

/// Waits for the end: of the command, or of the server.
fn attend(plan: &mut Plan, command: libc::pid_t, line: RawFd, hold: Hold) -> ! {
    let Ok((line, signals, hold)) = settle(line, hold) else {
        end_the_rest(plan, hold, Some(command));
        sys::exit(1)
    };
    if plan.ground.stage.is_some() {
        // From here on it only waits.
        let _ = sys::drop_capabilities();
    }
    let _ = sys::send(line, &Message::Started.to_bytes());
    loop {
        let (told, child) = sys::wait_readable(line, signals, -1);
        if child {
            sys::drain(signals);
            if let Some(status) = reap_all(command) {
                end_the_rest(plan, hold, None);
                let _ = sys::send(line, &Message::Ended { status }.to_bytes());
                sys::exit(0);
            }
        }
        if told && !obey(line, command, hold) {
            end_the_rest(plan, hold, Some(command));
            sys::exit(1);
        }
    }
}

/// When this returns, nothing of the command is left. The kernel would see to it when the first process of a namespace
/// ends, but that takes it longer, and the server need not wait for it.
fn end_the_rest(plan: &mut Plan, hold: Hold, group: Option<libc::pid_t>) {
    if let Hold::Descent { processes } = hold {
        return sweep::end_everything(processes, group, &mut plan.sweep);
    }
    loop {
        let _ = sys::signal(-1, libc::SIGKILL);
        if sys::reap_one(-1).is_err_and(|errno| errno == libc::ECHILD) {
            return;
        }
    }
}

/// Keeps what is needed and lets go of everything else: a stream that stays open here would never end for its reader.
fn settle(line: RawFd, hold: Hold) -> Outcome<(RawFd, RawFd, Hold)> {
    let signals = sys::child_signals()?;
    let (line, signals) = (sys::move_up(line, 3)?, sys::move_up(signals, 3)?);
    let hold = match hold {
        Hold::Domain => Hold::Domain,
        Hold::Descent { processes } => {
            let processes = sys::move_up(processes, 3)?;
            sys::duplicate(processes, 2)?;
            Hold::Descent { processes: 2 }
        }
    };
    sys::duplicate(line, 0)?;
    sys::duplicate(signals, 1)?;
    sys::close_from(match hold {
        Hold::Domain => 2,
        Hold::Descent { .. } => 3,
    })?;
    Ok((0, 1, hold))
}

/// Everything that has ended; the command's status if it is among them.
fn reap_all(command: libc::pid_t) -> Option<c_int> {
    let mut ended = None;
    while let Ok(Some((process, status))) = sys::reap() {
        if process == command {
            ended = Some(status);
        }
    }
    ended
}

/// Passes a signal on; `false` if the server has gone.
fn obey(line: RawFd, command: libc::pid_t, hold: Hold) -> bool {
    let mut signal = [0];
    match sys::receive(line, &mut signal) {
        Ok(0) => false,
        Ok(_) => {
            let whom = match hold {
                Hold::Domain => -1,
                Hold::Descent { .. } => -command,
            };
            let _ = sys::signal(whom, c_int::from(signal[0]));
            true
        }
        Err(errno) => errno == libc::EINTR || errno == libc::EAGAIN,
    }
}
