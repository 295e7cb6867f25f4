//! Attacks on the kernel's interface.

use std::ptr::null;

use crate::attacker::{Attack, Verdict, must_be_refused, must_fail};
use crate::attacks::any;

macro_rules! refused {
    ($number:expr $(, $argument:expr)*) => { must_be_refused(unsafe { libc::syscall($number $(, $argument)*) }, stringify!($number)) };
}

pub(crate) const LIST: &[(&str, Attack)] = &[
    ("ptrace", |t| {
        let attached = unsafe { libc::ptrace(libc::PTRACE_ATTACH, t.server, 0, 0) };
        must_be_refused(attached, "attached to the server")
    }),
    ("ptrace_parent", |_| {
        let attached = unsafe { libc::ptrace(libc::PTRACE_SEIZE, libc::getppid(), 0, 0) };
        must_be_refused(attached, "attached to the parent")
    }),
    ("process_memory", |t| {
        let mut byte = 0u8;
        let part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        must_be_refused(
            unsafe { libc::process_vm_readv(t.server, &raw const part, 1, &raw const part, 1, 0) as i64 },
            "read",
        )
    }),
    ("signal_server", |t| must_fail(unsafe { libc::kill(t.server, 0) }.into(), "the server can be signalled")),
    ("handle_of_server", |t| {
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, t.server, 0) };
        if handle == -1 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        must_fail(
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle, 0, null::<u8>(), 0) },
            "signalled by handle",
        )
    }),
    ("take_handle", |_| {
        let own = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
        refused!(libc::SYS_pidfd_getfd, own, 0, 0)
    }),
    ("io_uring", |_| refused!(libc::SYS_io_uring_setup, 4, [0u8; 120].as_mut_ptr())),
    ("no_new_privileges", |_| match unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } {
        1 => Err("set-user programs give nothing".into()),
        _ => Ok("set-user programs work".into()),
    }),
    ("capabilities", |_| {
        let header: [u32; 2] = [0x2008_0522, 0];
        let mut sets = [0u32; 6];
        unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
        let bound = (0..41).any(|cap| unsafe { libc::prctl(libc::PR_CAPBSET_READ, cap, 0, 0, 0) } == 1);
        let bound = bound && unsafe { libc::geteuid() } == 0;
        if sets == [0; 6] && !bound { Err("none".into()) } else { Ok(format!("{sets:?}, bounding set kept: {bound}")) }
    }),
    ("become_root", |_| {
        let before = unsafe { libc::geteuid() };
        let became = unsafe { libc::setuid(u32::from(before == 0)) };
        must_fail(became.into(), "became another user")
    }),
    ("mount", |_| {
        must_be_refused(
            unsafe { libc::mount(c"tmpfs".as_ptr(), c".".as_ptr(), c"tmpfs".as_ptr(), 0, null()) }.into(),
            "mounted",
        )
    }),
    ("bind_mount", |_| {
        must_be_refused(
            unsafe { libc::mount(c"/".as_ptr(), c".".as_ptr(), null(), libc::MS_BIND, null()) }.into(),
            "bound",
        )
    }),
    ("unmount_cover", |_| {
        must_be_refused(unsafe { libc::umount2(c".env".as_ptr(), libc::MNT_DETACH) }.into(), "uncovered")
    }),
    ("newest_mount_api", |_| refused!(467, libc::AT_FDCWD, c"/".as_ptr(), 1, [0u64; 4].as_ptr(), 32)),
    ("mounts_by_number", |_| refused!(458, [24u64, u64::MAX, 0].as_ptr(), [0u64; 8].as_mut_ptr(), 8, 0)),
    ("new_mount_api", |_| refused!(libc::SYS_open_tree, libc::AT_FDCWD, c"/".as_ptr(), 1)),
    ("fsopen", |_| refused!(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0)),
    ("mount_attributes", |_| {
        refused!(libc::SYS_mount_setattr, libc::AT_FDCWD, c"/".as_ptr(), 0, [0u64, 1, 0, 0].as_ptr(), 32)
    }),
    ("unshare", |_| must_be_refused(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into(), "a namespace")),
    ("clone_with_namespace", |_| {
        let made = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0) };
        if made == 0 {
            unsafe { libc::_exit(0) };
        }
        must_be_refused(made, "a namespace")
    }),
    ("clone3", |_| refused!(libc::SYS_clone3, null::<u8>(), 0)),
    ("setns", |_| must_be_refused(unsafe { libc::setns(0, 0) }.into(), "entered")),
    ("chroot", |_| must_be_refused(unsafe { libc::chroot(c".".as_ptr()) }.into(), "a new root")),
    ("pivot_root", |_| refused!(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr())),
    ("open_by_handle", |_| refused!(libc::SYS_open_by_handle_at, libc::AT_FDCWD, [0u32; 8].as_ptr(), 0)),
    ("name_to_handle", |_| {
        refused!(libc::SYS_name_to_handle_at, libc::AT_FDCWD, c".".as_ptr(), [0u32; 8].as_ptr(), [0u32; 2].as_ptr(), 0)
    }),
    ("keys", |_| refused!(libc::SYS_keyctl, 0, -3, 1)),
    ("add_key", |_| refused!(libc::SYS_add_key, c"user".as_ptr(), c"a".as_ptr(), c"b".as_ptr(), 1, -3)),
    ("bpf", |_| refused!(libc::SYS_bpf, 0, [0u8; 128].as_ptr(), 128)),
    ("perf", |_| refused!(libc::SYS_perf_event_open, [0u8; 128].as_ptr(), 0, -1, -1, 0)),
    ("userfaultfd", |_| refused!(libc::SYS_userfaultfd, 1)),
    ("kexec", |_| refused!(libc::SYS_kexec_load, 0, 0, null::<u8>(), 0)),
    ("load_module", |_| refused!(libc::SYS_init_module, null::<u8>(), 0, c"".as_ptr())),
    ("swap", |_| refused!(libc::SYS_swapon, c"/nothing".as_ptr(), 0)),
    ("accounting", |_| refused!(libc::SYS_acct, c"/nothing".as_ptr())),
    ("quota", |_| refused!(libc::SYS_quotactl, 0, null::<u8>(), 0, null::<u8>())),
    ("kernel_log", |_| refused!(libc::SYS_syslog, 3, null::<u8>(), 0)),
    ("clock", |_| refused!(libc::SYS_settimeofday, null::<u8>(), null::<u8>())),
    ("host_name", |_| refused!(libc::SYS_sethostname, c"x".as_ptr(), 1)),
    ("personality", |_| refused!(libc::SYS_personality, 0x0040_0000)),
    ("fanotify", |_| refused!(libc::SYS_fanotify_init, 0, 0)),
    ("type_into_terminal", |_| must_be_refused(unsafe { libc::ioctl(0, 0x5412, c"x".as_ptr()) }.into(), "typed")),
    ("other_numbers", other_numbers),
    ("limits_of_server", |t| limits(t.server)),
    ("limits_of_watcher", |_| limits(unsafe { libc::getppid() })),
    ("priority_of_watcher", |_| refused!(libc::SYS_setpriority, libc::PRIO_PROCESS, libc::getppid(), 19)),
    ("priority_of_the_user", |_| refused!(libc::SYS_setpriority, libc::PRIO_USER, 0, 19)),
    ("disk_priority_of_watcher", |_| refused!(libc::SYS_ioprio_set, 1, libc::getppid(), 3 << 13)),
    ("scheduling_of_watcher", |_| {
        const IDLE: i32 = 5;
        refused!(libc::SYS_sched_setscheduler, libc::getppid(), IDLE, &raw const NOTHING)
    }),
    ("scheduling_parameters_of_watcher", |_| refused!(libc::SYS_sched_setparam, libc::getppid(), &raw const NOTHING)),
    ("scheduling_attributes_of_watcher", |_| refused!(libc::SYS_sched_setattr, libc::getppid(), &raw const NOTHING, 0)),
    ("pages_of_watcher", |_| {
        let (none, moved) = (null::<u8>(), [1u64]);
        any([
            refused!(libc::SYS_move_pages, libc::getppid(), 0, none, none, none, 0),
            refused!(libc::SYS_migrate_pages, libc::getppid(), 1, moved.as_ptr(), moved.as_ptr()),
        ])
    }),
    ("processors_of_server", |t| {
        let all = [u64::MAX; 16];
        must_fail(unsafe { libc::syscall(libc::SYS_sched_setaffinity, t.server, 128, all.as_ptr()) }, "it was set")
    }),
    ("shared_memory", |t| {
        let attached = unsafe { libc::shmat(t.memory, null(), libc::SHM_RDONLY) };
        must_fail(if attached.addr() == usize::MAX { -1 } else { 0 }, "somebody else's memory")
    }),
];

static NOTHING: [u64; 8] = [0; 8];

/// Only reads the limits, so that nothing happens to the machine if it works.
fn limits(process: i32) -> Verdict {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let looked = unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, null(), &raw mut limit) };
    must_be_refused(looked.into(), "another process's limits")
}

/// The same calls by the numbers of the x32 interface.
fn other_numbers(_target: &crate::attacker::Target) -> Verdict {
    must_be_refused(unsafe { libc::syscall(0x4000_0000 + 39) }, "x32")
}
