//! System calls that `rustix` does not offer, for use between fork and exec: no allocation, no lock, no panic.
//!
//! Everything else in this folder calls `rustix` directly: its functions take C strings and handles and make the system
//! call without libc, so they are safe there as well.

#![expect(unsafe_code, reason = "the kernel's interface: each call passes pointers that live through it")]

use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, Result};

/// A handle that is not open.
pub(super) const NOT_OPEN: RawFd = -1;

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Turns the convention of libc, -1 and `errno`, into a result.
fn checked(returned: c_int) -> Result<c_int> {
    if returned == -1 { Err(last_errno()) } else { Ok(returned) }
}

/// A system call that libc has no function for.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {{
        // SAFETY: the arguments are numbers, or pointers to values that outlive the call.
        let returned: c_long = unsafe { libc::syscall($number $(, $argument)*) };
        if returned == -1 { Err(last_errno()) } else { Ok(returned) }
    }};
}

/// The attributes of a mount that `mount_setattr` can set (`MOUNT_ATTR_*`).
pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SUID: u64 = 2;
pub(super) const NO_DEV: u64 = 4;

/// Sets attributes of a mount, given by handle or by path.
pub(super) fn set_mount_attributes(mount: impl AsFd, path: &CStr, flags: AtFlags, set: u64) -> Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let (pointer, size) = (&raw const attributes, size_of::<Attributes>());
    call!(libc::SYS_mount_setattr, mount.as_fd().as_raw_fd(), path.as_ptr(), flags.bits(), pointer, size).map(drop)
}

/// Opens a path that exists by a handle that only names it (`O_PATH`).
pub(super) fn open_path(path: &CStr, more: OFlags) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty())
}

/// Takes some errors for success.
pub(super) fn tolerate(done: Result<()>, accepted: &[Errno]) -> Result<()> {
    if done.is_err_and(|errno| accepted.contains(&errno)) { Ok(()) } else { done }
}

/// Creates a directory; one that exists is accepted.
pub(super) fn make_dir(path: &CStr, mode: u32) -> Result<()> {
    tolerate(rustix::fs::mkdir(path, Mode::from_raw_mode(mode)), &[Errno::EXIST])
}

/// Creates an empty file to mount something on; one that exists is accepted.
pub(super) fn make_file(path: &CStr, mode: u32) -> Result<()> {
    let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::from_raw_mode(mode)).map(drop)
}

/// Overwrites a file of `/proc`.
pub(super) fn write_file(path: &CStr, content: &[u8]) -> Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content).map(drop)
}

/// Closes every handle from a number on.
pub(super) fn close_from(first: c_uint) -> Result<()> {
    call!(libc::SYS_close_range, first, c_uint::MAX, 0).map(drop)
}

/// Resets the handlers of all signals: what the server ignores or catches is not inherited.
pub(super) fn reset_signal_handlers() {
    // SAFETY: all zeroes is the default action with an empty mask.
    let action: libc::sigaction = unsafe { std::mem::zeroed() };
    for signal in 1..=64 {
        // SAFETY: the kernel rejects signals that cannot be changed, which is fine.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

/// Blocks or unblocks every signal of this thread; returns the mask of before.
pub(super) fn block_signals(block: bool) -> libc::sigset_t {
    // SAFETY: sigset_t is a bit set; the calls fill it.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        let how = if block { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        libc::pthread_sigmask(how, &raw const all, &raw mut old);
        old
    }
}

/// Restores a mask that [`block_signals`] has returned.
pub(super) fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: a mask that the kernel has returned.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// A handle that becomes readable when a child has ended.
pub(super) fn child_signals() -> Result<OwnedFd> {
    // SAFETY: the set is filled before it is used, and the new handle belongs to nobody else.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        let handle = checked(libc::signalfd(NOT_OPEN, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(handle))
    }
}

/// Waits for a child, or for any with -1. `None` if `options` say not to wait and none has ended; `ECHILD` if there is
/// no such child.
pub(super) fn wait(pid: libc::pid_t, options: c_int) -> Result<Option<(libc::pid_t, c_int)>> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    let ended = checked(unsafe { libc::waitpid(pid, &raw mut status, options | libc::__WALL) })?;
    Ok((ended > 0).then_some((ended, status)))
}

/// Sends a signal to a process, to a group (negative), or to everybody it may signal (-1).
pub(super) fn kill(pid: libc::pid_t, signal: c_int) -> Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Ends this process at once, without running any cleanup of the server's.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Enables the loopback interface of the current network namespace.
pub(super) fn enable_loopback() -> Result<()> {
    const UP_AND_RUNNING: libc::c_short = 0x41;
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM);
    let socket = rustix::net::socket_with(family, kind, rustix::net::SocketFlags::CLOEXEC, None)?;
    // SAFETY: the request is plain bytes; the kernel reads the name and the flags.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        std::ptr::copy_nonoverlapping(c"lo".as_ptr(), request.ifr_name.as_mut_ptr(), 3);
        request.ifr_ifru.ifru_flags = UP_AND_RUNNING;
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request)).map(drop)
    }
}

/// Replaces this process by a program; returns only on failure. The lists end with null, and nothing they point to has
/// moved since the fork.
pub(super) fn execute(path: &CStr, arguments: &[*const libc::c_char], environment: &[*const libc::c_char]) -> Errno {
    // SAFETY: both lists end with null, and every string ends.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last_errno()
}

/// The newest Landlock ABI of the kernel; an error if it has none, or Landlock is disabled. The `landlock` crate keeps
/// its own probe private.
pub(super) fn landlock_abi() -> Result<i32> {
    const VERSION: c_uint = 1;
    let none: *const c_void = std::ptr::null();
    let abi = call!(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION)?;
    i32::try_from(abi).map_err(|_| Errno::OVERFLOW)
}

/// Adds a rule about a directory tree to a Landlock ruleset.
pub(super) fn landlock_add_rule(ruleset: &OwnedFd, directory: &OwnedFd, allowed: u64) -> Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        directory: RawFd,
    }
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed, directory: directory.as_raw_fd() };
    call!(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0).map(drop)
}

/// Enforces a Landlock ruleset on this thread and everything it starts.
pub(super) fn landlock_restrict_self(ruleset: &OwnedFd) -> Result<()> {
    call!(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0).map(drop)
}

/// Whether the kernel supports system call filters that return an error.
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    call!(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action).is_ok()
}

/// Installs a system call filter for this thread and everything it starts.
pub(super) fn install_filter(program: &[libc::sock_filter]) -> Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::TOOBIG)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    call!(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program).map(drop)
}

/// Starts a process that runs `body` on the given stack. With `CLONE_PIDFD` its handle is stored in `pidfd`.
pub(super) fn clone(
    body: extern "C" fn(*mut c_void) -> c_int,
    stack: &mut [u8],
    flags: c_int,
    argument: *mut c_void,
    pidfd: &mut RawFd,
) -> Result<libc::pid_t> {
    let top = stack.as_mut_ptr_range().end;
    let top = top.map_addr(|address| address & !15).cast::<c_void>();
    // SAFETY: the stack is the child's alone while it runs; the argument outlives it or is copied with the memory.
    checked(unsafe { libc::clone(body, top, flags, argument, std::ptr::from_mut(pidfd)) })
}

/// Copies the mounts at a path, without attaching them anywhere.
pub(super) fn copy_mount(path: &CStr) -> Result<OwnedFd> {
    use rustix::mount::OpenTreeFlags as Flags;
    let flags = Flags::OPEN_TREE_CLONE | Flags::AT_RECURSIVE | Flags::OPEN_TREE_CLOEXEC;
    rustix::mount::open_tree(CWD, path, flags)
}

/// Attaches mounts at a path.
pub(super) fn attach_mount(mount: impl AsFd, target: &CStr) -> Result<()> {
    let flags = rustix::mount::MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(mount, c"", CWD, target, flags)
}
