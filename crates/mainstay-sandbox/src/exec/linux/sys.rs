//! System calls as they are made between fork and exec: no allocation, no lock, no panic. Everything they are given
//! was made ready before.

#![expect(unsafe_code, reason = "the kernel's interface: each call passes pointers that live through it")]

use std::ffi::CStr;
use std::os::fd::RawFd;

use libc::{c_int, c_long, c_uint, c_void};

/// The kernel's number for why it said no.
pub(super) type Errno = i32;
pub(super) type Outcome<T = ()> = Result<T, Errno>;

pub(super) const HERE: RawFd = libc::AT_FDCWD;

pub(super) fn errno() -> Errno {
    // SAFETY: glibc and musl always have a place for it.
    unsafe { *libc::__errno_location() }
}

fn checked(returned: c_int) -> Outcome<c_int> {
    if returned == -1 { Err(errno()) } else { Ok(returned) }
}

/// A system call that libc has no function for.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {{
        // SAFETY: the arguments are numbers, or pointers to values that outlive the call.
        let returned: c_long = unsafe { libc::syscall($number $(, $argument)*) };
        if returned == -1 { Err(errno()) } else { Ok(returned) }
    }};
}

pub(super) fn set(option: c_int, value: libc::c_ulong) -> Outcome {
    let none: libc::c_ulong = 0;
    // SAFETY: none of the options used here takes a pointer.
    checked(unsafe { libc::prctl(option, value, none, none, none) }).map(drop)
}

pub(super) fn setns(namespace: RawFd, kind: c_int) -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::setns(namespace, kind) }).map(drop)
}

pub(super) fn unshare(flags: c_int) -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Mounts a new file system.
pub(super) fn mount_new(kind: &CStr, target: &CStr, flags: libc::c_ulong, options: &CStr) -> Outcome {
    let (kind, options) = (kind.as_ptr(), options.as_ptr().cast::<c_void>());
    // SAFETY: all are strings that end.
    checked(unsafe { libc::mount(kind, target.as_ptr(), kind, flags, options) }).map(drop)
}

/// A new view of the processes of this process's namespace, not attached anywhere yet. Processes one may not look into
/// are not in it: not the one that watches over a command, whose command line is the server's.
pub(super) fn new_process_view() -> Outcome<RawFd> {
    const SET_TEXT: c_uint = 1;
    const CREATE: c_uint = 6;
    const CLOSE_ON_EXEC: c_uint = 1;
    const NO_EXEC: u64 = 8;
    let kind = call!(libc::SYS_fsopen, c"proc".as_ptr(), CLOSE_ON_EXEC).map(narrow)?;
    let none: *const c_void = std::ptr::null();
    let (option, hidden) = (c"hidepid".as_ptr(), c"ptraceable".as_ptr());
    let made = call!(libc::SYS_fsconfig, kind, SET_TEXT, option, hidden, 0)
        .and_then(|_| call!(libc::SYS_fsconfig, kind, CREATE, none, none, 0))
        .and_then(|_| call!(libc::SYS_fsmount, kind, CLOSE_ON_EXEC, NO_SUID | NO_DEV | NO_EXEC));
    close(kind);
    made.map(narrow)
}

/// Cuts the mounts of this namespace off from the others.
pub(super) fn make_private() -> Outcome {
    let none = std::ptr::null();
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the kernel ignores what is null with these flags.
    checked(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, std::ptr::null()) }).map(drop)
}

pub(super) fn unmount(target: &CStr) -> Outcome {
    // SAFETY: a string that ends.
    checked(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// A copy of the mounts at a path, not attached anywhere yet.
pub(super) fn copy_tree(path: &CStr) -> Outcome<RawFd> {
    const CLONE: c_uint = 1;
    let flags = CLONE | cast(libc::AT_RECURSIVE) | cast(libc::O_CLOEXEC);
    call!(libc::SYS_open_tree, HERE, path.as_ptr(), flags).map(narrow)
}

pub(super) fn attach(tree: RawFd, target: &CStr) -> Outcome {
    const FROM_EMPTY: c_uint = 4;
    call!(libc::SYS_move_mount, tree, c"".as_ptr(), HERE, target.as_ptr(), FROM_EMPTY).map(drop)
}

pub(super) fn attach_at(tree: RawFd, target: RawFd) -> Outcome {
    const FROM_AND_TO_EMPTY: c_uint = 0x44;
    call!(libc::SYS_move_mount, tree, c"".as_ptr(), target, c"".as_ptr(), FROM_AND_TO_EMPTY).map(drop)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SUID: u64 = 2;
pub(super) const NO_DEV: u64 = 4;

fn restrict(tree: RawFd, path: &CStr, flags: c_int, set: u64) -> Outcome {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let (pointer, size) = (&raw const attributes, size_of::<MountAttributes>());
    call!(libc::SYS_mount_setattr, tree, path.as_ptr(), flags, pointer, size).map(drop)
}

/// Restricts a mount and everything mounted beneath it.
pub(super) fn restrict_tree(tree: RawFd, set: u64) -> Outcome {
    restrict(tree, c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, set)
}

pub(super) fn restrict_mount(path: &CStr, set: u64) -> Outcome {
    restrict(HERE, path, 0, set)
}

/// Makes the current directory the root and the old root disappear.
pub(super) fn enter_root() -> Outcome {
    call!(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr())?;
    unmount(c".")?;
    change_dir(c"/")
}

pub(super) fn change_dir(path: &CStr) -> Outcome {
    // SAFETY: a string that ends.
    checked(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

/// Makes a directory; one that is there already is good too.
pub(super) fn make_dir(path: &CStr, mode: libc::mode_t) -> Outcome {
    // SAFETY: a string that ends.
    match checked(unsafe { libc::mkdir(path.as_ptr(), mode) }) {
        Ok(_) | Err(libc::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes a link, unless something is there already.
pub(super) fn make_link(target: &CStr, path: &CStr) -> Outcome {
    // SAFETY: strings that end.
    match checked(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }) {
        Ok(_) | Err(libc::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

pub(super) fn open(path: &CStr, flags: c_int, mode: c_uint) -> Outcome<RawFd> {
    // SAFETY: a string that ends.
    checked(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

/// An empty file to mount something on.
pub(super) fn make_file(path: &CStr, mode: c_uint) -> Outcome {
    let file = open(path, libc::O_CREAT | libc::O_RDONLY, mode)?;
    close(file);
    Ok(())
}

pub(super) fn write_file(path: &CStr, content: &[u8]) -> Outcome {
    let file = open(path, libc::O_WRONLY, 0)?;
    // SAFETY: the buffer is as long as it says.
    let written = unsafe { libc::write(file, content.as_ptr().cast(), content.len()) };
    let result = if written == -1 { Err(errno()) } else { Ok(()) };
    close(file);
    result
}

/// Reads the beginning of a file in a directory.
pub(super) fn read_at(directory: RawFd, path: &CStr, buffer: &mut [u8]) -> Outcome<usize> {
    // SAFETY: a string that ends.
    let file = checked(unsafe { libc::openat(directory, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) })?;
    // SAFETY: the buffer is as long as it says.
    let filled = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
    let filled = usize::try_from(filled).map_err(|_| errno());
    close(file);
    filled
}

pub(super) fn close(fd: RawFd) {
    // SAFETY: closing a number that is not open does nothing.
    unsafe { libc::close(fd) };
}

pub(super) fn close_from(first: RawFd) -> Outcome {
    call!(libc::SYS_close_range, first, c_uint::MAX, 0).map(drop)
}

pub(super) fn duplicate(fd: RawFd, onto: RawFd) -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::dup2(fd, onto) }).map(drop)
}

/// A copy with a number of at least `least`, so that it is not in the way.
pub(super) fn move_up(fd: RawFd, least: RawFd) -> Outcome<RawFd> {
    // SAFETY: no pointers.
    checked(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least) })
}

/// Device and inode: what a file is, whatever it is called.
pub(super) fn identity(fd: RawFd) -> Outcome<crate::identity::FileId> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills it when it returns 0.
    checked(unsafe { libc::fstat(fd, stat.as_mut_ptr()) })?;
    // SAFETY: as above.
    let stat = unsafe { stat.assume_init() };
    Ok(crate::identity::FileId { device: stat.st_dev, inode: stat.st_ino })
}

pub(super) fn new_session() -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::setsid() }).map(drop)
}

pub(super) fn limit(resource: libc::c_uint, value: u64) -> Outcome {
    let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    let old: *mut libc::rlimit64 = std::ptr::null_mut();
    call!(libc::SYS_prlimit64, 0, resource, &raw const limit, old).map(drop)
}

pub(super) fn drop_capabilities() -> Outcome {
    const VERSION_3: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION_3, 0];
    let none = [0u32; 6];
    call!(libc::SYS_capset, header.as_ptr(), none.as_ptr()).map(drop)
}

pub(super) fn install_filter(program: &[libc::sock_filter]) -> Outcome {
    const SET_MODE_FILTER: c_uint = 1;
    let length = u16::try_from(program.len()).map_err(|_| libc::E2BIG)?;
    let whole = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    call!(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const whole).map(drop)
}

/// Signals as a new program expects them: nothing blocked, nothing ignored.
pub(super) fn default_signals() {
    // SAFETY: all zeroes is the default action with an empty mask.
    let action: libc::sigaction = unsafe { std::mem::zeroed() };
    for signal in 1..=64 {
        // SAFETY: signals that cannot be changed are refused, which is as good.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

/// Blocks or unblocks every signal of this thread, and returns what was blocked before.
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

pub(super) fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: a mask the kernel gave.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// A handle that can be read when a child has ended.
pub(super) fn child_signals() -> Outcome<RawFd> {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// The next time a directory is read it is from its beginning.
pub(super) fn rewind(directory: RawFd) -> Outcome {
    // SAFETY: no pointers.
    if unsafe { libc::lseek(directory, 0, libc::SEEK_SET) } == -1 { Err(errno()) } else { Ok(()) }
}

pub(super) fn drain(fd: RawFd) {
    let mut buffer = [0u8; 1024];
    // SAFETY: the buffer is as long as it says.
    while unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) } > 0 {}
}

/// Waits until one of two handles can be read.
pub(super) fn wait_readable(first: RawFd, second: RawFd, milliseconds: c_int) -> (bool, bool) {
    let mut polled = [first, second].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: two entries, as it says.
    unsafe { libc::poll(polled.as_mut_ptr(), 2, milliseconds) };
    (polled[0].revents != 0, polled[1].revents != 0)
}

/// One child that has ended: its number and how. `None` while there is none; an error when there are no children.
pub(super) fn reap() -> Outcome<Option<(libc::pid_t, c_int)>> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    let pid = checked(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) })?;
    Ok((pid > 0).then_some((pid, status)))
}

pub(super) fn reap_one(pid: libc::pid_t) -> Outcome<c_int> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    checked(unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) })?;
    Ok(status)
}

pub(super) fn signal(pid: libc::pid_t, signal: c_int) -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Ends this process at once.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

pub(super) fn receive(fd: RawFd, buffer: &mut [u8]) -> Outcome<usize> {
    // SAFETY: the buffer is as long as it says.
    let received = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(received).map_err(|_| errno())
}

pub(super) fn send(fd: RawFd, bytes: &[u8]) -> Outcome {
    // SAFETY: the buffer is as long as it says.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if sent == -1 { Err(errno()) } else { Ok(()) }
}

/// Room for one descriptor beside a message.
#[repr(C, align(8))]
struct Ancillary([u8; 64]);

/// Sends a message together with a descriptor.
pub(super) fn send_with(fd: RawFd, bytes: &[u8], carried: RawFd) -> Outcome {
    let mut room = Ancillary([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the header points to what is above; the room is large enough for one descriptor.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = room.0.as_mut_ptr().cast();
        let size = 4;
        header.msg_controllen = libc::CMSG_SPACE(size) as _;
        let control = libc::CMSG_FIRSTHDR(&raw const header);
        if control.is_null() {
            return Err(libc::EINVAL);
        }
        (*control).cmsg_level = libc::SOL_SOCKET;
        (*control).cmsg_type = libc::SCM_RIGHTS;
        (*control).cmsg_len = libc::CMSG_LEN(size) as _;
        std::ptr::copy_nonoverlapping((&raw const carried).cast::<u8>(), libc::CMSG_DATA(control), 4);
        if libc::sendmsg(fd, &raw const header, libc::MSG_NOSIGNAL) == -1 { Err(errno()) } else { Ok(()) }
    }
}

/// Receives a message and the descriptor beside it, if there is one.
pub(super) fn receive_with(fd: RawFd, buffer: &mut [u8]) -> Outcome<(usize, Option<RawFd>)> {
    let mut room = Ancillary([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the header points to what is above, and the kernel writes no more than there is room for.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = room.0.as_mut_ptr().cast();
        header.msg_controllen = room.0.len() as _;
        let received = libc::recvmsg(fd, &raw mut header, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
        let received = usize::try_from(received).map_err(|_| errno())?;
        let control = libc::CMSG_FIRSTHDR(&raw const header);
        let carried = if !control.is_null() && (*control).cmsg_type == libc::SCM_RIGHTS {
            let mut carried: RawFd = -1;
            std::ptr::copy_nonoverlapping(libc::CMSG_DATA(control), (&raw mut carried).cast::<u8>(), 4);
            Some(carried)
        } else {
            None
        };
        Ok((received, carried))
    }
}

#[repr(C)]
struct WindowSize {
    rows: u16,
    columns: u16,
    pixels: [u16; 2],
}

pub(super) fn set_window(terminal: RawFd, rows: u16, columns: u16) -> Outcome {
    let size = WindowSize { rows, columns, pixels: [0, 0] };
    // SAFETY: the kernel reads the size.
    checked(unsafe { libc::ioctl(terminal, libc::TIOCSWINSZ, &raw const size) }).map(drop)
}

/// A new terminal: the side that controls it and the side programs see.
pub(super) fn open_terminal() -> Outcome<(RawFd, RawFd)> {
    let master = open(c"/dev/ptmx", libc::O_RDWR | libc::O_NOCTTY, 0)?;
    let unlock: c_int = 0;
    // SAFETY: the kernel reads one number.
    checked(unsafe { libc::ioctl(master, libc::TIOCSPTLCK, &raw const unlock) })?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: no pointers.
    let slave = checked(unsafe { libc::ioctl(master, libc::TIOCGPTPEER, flags) })?;
    Ok((master, slave))
}

pub(super) fn take_terminal(terminal: RawFd) -> Outcome {
    // SAFETY: no pointers.
    checked(unsafe { libc::ioctl(terminal, libc::TIOCSCTTY, 0) }).map(drop)
}

const UP_AND_RUNNING: libc::c_short = 0x41;

/// Switches the loopback interface on.
pub(super) fn raise_loopback() -> Outcome {
    // SAFETY: no pointers.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a request is bytes; the kernel reads the name and the flags.
    let raised = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        std::ptr::copy_nonoverlapping(c"lo".as_ptr(), request.ifr_name.as_mut_ptr(), 3);
        request.ifr_ifru.ifru_flags = UP_AND_RUNNING;
        checked(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request))
    };
    close(socket);
    raised.map(drop)
}

/// The pointers may be used after a fork because nothing they point to has moved.
pub(super) fn execute(path: &CStr, arguments: &[*const libc::c_char], environment: &[*const libc::c_char]) -> Errno {
    // SAFETY: both lists end with null, and every string ends.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    errno()
}

pub(super) const LANDLOCK_VERSION: c_uint = 1;

/// The newest Landlock interface the kernel has; nothing if it has none or it is switched off.
pub(super) fn landlock_version() -> Outcome<c_long> {
    let none: *const c_void = std::ptr::null();
    call!(libc::SYS_landlock_create_ruleset, none, 0usize, LANDLOCK_VERSION)
}

pub(super) fn create_ruleset(handled: &[u64; 3], size: usize) -> Outcome<RawFd> {
    call!(libc::SYS_landlock_create_ruleset, handled.as_ptr(), size, 0).map(narrow)
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

pub(super) fn add_rule(ruleset: RawFd, parent: RawFd, allowed: u64) -> Outcome {
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed, parent };
    call!(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, &raw const rule, 0).map(drop)
}

pub(super) fn enforce_ruleset(ruleset: RawFd) -> Outcome {
    call!(libc::SYS_landlock_restrict_self, ruleset, 0).map(drop)
}

pub(super) fn kill_by_handle(process: RawFd, signal: c_int) -> Outcome {
    let none: *const c_void = std::ptr::null();
    call!(libc::SYS_pidfd_send_signal, process, signal, none, 0).map(drop)
}

/// Waits for a child by its handle and forgets it.
pub(super) fn reap_by_handle(process: RawFd, now: bool) -> Outcome<bool> {
    // SAFETY: the kernel fills the information.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let wait = libc::WEXITED | libc::__WALL | if now { libc::WNOHANG } else { 0 };
        let Ok(id) = libc::id_t::try_from(process) else { return Err(libc::EBADF) };
        loop {
            match checked(libc::waitid(libc::P_PIDFD, id, &raw mut information, wait)) {
                Err(libc::EINTR) => {}
                other => return other.map(|_| information.si_signo != 0),
            }
        }
    }
}

/// Makes a process or a thread of sorts; `body` runs in it on the given stack.
pub(super) fn clone(
    body: extern "C" fn(*mut c_void) -> c_int,
    stack: &mut [u8],
    flags: c_int,
    argument: *mut c_void,
    process_handle: &mut RawFd,
) -> Outcome<libc::pid_t> {
    let top = stack.as_mut_ptr_range().end;
    let top = top.map_addr(|address| address & !15).cast::<c_void>();
    // SAFETY: the stack is the child's alone while it runs; the argument outlives it or is copied with everything else.
    checked(unsafe { libc::clone(body, top, flags, argument, std::ptr::from_mut(process_handle)) })
}

fn cast(flags: c_int) -> c_uint {
    flags.cast_unsigned()
}

fn narrow(returned: c_long) -> RawFd {
    RawFd::try_from(returned).unwrap_or(-1)
}

/// Whether the kernel takes system call filters.
pub(super) fn has_filters() -> bool {
    const ACTION_AVAILABLE: c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    call!(libc::SYS_seccomp, ACTION_AVAILABLE, 0, &raw const action).is_ok()
}
