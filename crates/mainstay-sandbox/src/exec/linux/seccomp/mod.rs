//! The system call filter (seccomp-BPF) of commands.
//!
//! The rules are compiled once, in the server (`program.rs`); a command's process only installs the program.

mod program;

use mainstay_core::Result;

use crate::exec::Network;
use program::{CallRules, Test};

pub(super) use program::Program;

/// The flags of `clone` that create namespaces, in which a command would have capabilities.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The mode bits with which a program runs as its owner.
const SET_ID: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// The open flags that create a file, with or without a name; only then does the mode count.
const CREATE: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Calls that fail with `EPERM` whatever their arguments.
const FORBIDDEN: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Calls that fail with `ENOSYS`, so that programs fall back to older ones. `clone3` and `openat2` pass their arguments
/// behind a pointer, which a filter cannot follow; `statmount` and `listmount` tell what is mounted, masks included, and
/// `/proc` does that in a form that programs know.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_openat2,
    STATMOUNT,
    LISTMOUNT,
];

/// Newer than the `libc` crate knows; the numbers are the same on every architecture.
const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;

/// The first call number that is rejected with all that follow (`ENOSYS`, as by an older kernel): `open_tree_attr`, which
/// makes mounts. Whoever raises it has looked at every call before it: new ways to mount, to name files and to start
/// processes bypass the rules for the old ones. The x32 interface, whose numbers begin at 2^30, is among them.
const FIRST_UNKNOWN: u32 = 467;

/// Calls that change another process, with the argument that holds its number; 0 means the caller. The supervisor of a
/// command must keep its open files and its share of the processor, or it could not end the command.
const OTHER_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
];

/// System V IPC and message queues: objects of the whole machine without a path that Landlock could guard. Most can be
/// used by number, without having been opened.
const SHARED_OBJECTS: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// `ioctl` requests that type into a terminal as if the user had: `TIOCSTI` and `TIOCLINUX`.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];

/// Kinds of sockets that programs use; raw ones are limited by their protocol.
const SOCKET_KINDS: [i32; 4] = [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET];

/// The part of a socket's kind that is not flags.
const SOCKET_KIND_MASK: u32 = 0xf;

/// IP by default, ICMP, TCP, UDP, ICMPv6; routing netlink has the number 0 too.
const PROTOCOLS: [i32; 5] = [0, libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6];

/// Rejects every call that changes or creates something with a set-user-ID or set-group-ID mode.
fn has_set_id(mode: u8) -> Vec<Vec<Test>> {
    vec![vec![Test::has_any(mode, SET_ID)]]
}

/// Rejects opening with such a mode, if the call creates a file.
fn creates_set_id(flags: u8, mode: u8) -> Vec<Vec<Test>> {
    vec![vec![Test::has_any(flags, CREATE.map(i32::cast_unsigned)), Test::has_any(mode, SET_ID)]]
}

/// Calls that are rejected for their arguments.
fn conditional_rules(rules: &mut CallRules) {
    let namespaces = NAMESPACES.map(i32::cast_unsigned);
    rules.reject_if(libc::SYS_clone, vec![vec![Test::has_any(0, namespaces)]]);
    rules.reject_if(libc::SYS_ioctl, vec![vec![Test::is_one_of(1, TERMINAL_INPUT)]]);
    rules.reject_if(libc::SYS_personality, vec![vec![Test::is_none_of(0, [0, u32::MAX])]]);
    rules.reject_if(libc::SYS_fchmod, has_set_id(1));
    rules.reject_if(libc::SYS_fchmodat, has_set_id(2));
    rules.reject_if(FCHMODAT2, has_set_id(2));
    rules.reject_if(libc::SYS_mknodat, has_set_id(2));
    rules.reject_if(libc::SYS_openat, creates_set_id(2, 3));
    #[cfg(target_arch = "x86_64")]
    {
        rules.reject_if(libc::SYS_chmod, has_set_id(1));
        rules.reject_if(libc::SYS_mknod, has_set_id(1));
        rules.reject_if(libc::SYS_creat, has_set_id(1));
        rules.reject_if(libc::SYS_open, creates_set_id(1, 2));
    }
}

/// Calls that are rejected because they reach other processes. In namespaces of its own a command may share memory, and
/// the threads of a program do set each other's processors.
fn other_process_rules(rules: &mut CallRules, namespaces: bool) {
    for (call, argument) in OTHER_PROCESS {
        rules.reject_if(*call, vec![vec![Test::is_none_of(*argument, [0])]]);
    }
    // Everything that the user runs.
    let (user, all_of_user) = (libc::PRIO_USER, 3);
    rules.reject_if(libc::SYS_setpriority, vec![vec![Test::is_one_of(0, [user])]]);
    rules.reject_if(libc::SYS_ioprio_set, vec![vec![Test::is_one_of(0, [all_of_user])]]);
    if !namespaces {
        rules.reject_if(libc::SYS_sched_setaffinity, vec![vec![Test::is_none_of(0, [0])]]);
        rules.reject(SHARED_OBJECTS, libc::EPERM);
    }
}

/// Which pairs of sockets are rejected. The ends of a stream stay connected to each other. A datagram socket does not: it
/// sends to any path that a command sees, so it is a socket like any other (and so is a raw one, which the kernel treats
/// as the same).
fn socket_pair_rules(rules: &mut CallRules, network: Network, namespaces: bool) {
    let mut rejected = vec![vec![Test::is_none_of(0, [libc::AF_UNIX.cast_unsigned()])]];
    if network == Network::Off || !namespaces {
        rejected.push(vec![is_another_kind([libc::SOCK_STREAM, libc::SOCK_SEQPACKET])]);
    }
    rules.reject_if(libc::SYS_socketpair, rejected);
}

/// Whether a socket is of another kind than these. The other bits of the argument are flags.
fn is_another_kind<const N: usize>(kinds: [i32; N]) -> Test {
    Test::is_none_of(1, kinds.map(i32::cast_unsigned)).masked(SOCKET_KIND_MASK)
}

/// Which sockets are rejected.
fn socket_rules(rules: &mut CallRules, network: Network, namespaces: bool) {
    if network == Network::Off {
        rules.reject(&[libc::SYS_socket], libc::EPERM);
        return;
    }
    let [inet, inet6, netlink, unix] =
        [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_UNIX].map(i32::cast_unsigned);
    // Without a mount namespace, sockets of other programs could be found by their path.
    let family = if namespaces {
        Test::is_none_of(0, [inet, inet6, netlink, unix])
    } else {
        Test::is_none_of(0, [inet, inet6, netlink])
    };
    // Raw sockets are for netlink, which resolvers read; others need a privilege.
    let protocol = Test::is_none_of(2, PROTOCOLS.map(i32::cast_unsigned));
    rules.reject_if(libc::SYS_socket, vec![vec![family], vec![is_another_kind(SOCKET_KINDS)], vec![protocol]]);
}

/// The program that a command installs. With `namespaces` it may use what would otherwise reach other processes.
pub(super) fn build(network: Network, namespaces: bool) -> Result<Program> {
    let mut rules = CallRules::default();
    conditional_rules(&mut rules);
    other_process_rules(&mut rules, namespaces);
    socket_rules(&mut rules, network, namespaces);
    socket_pair_rules(&mut rules, network, namespaces);
    rules.reject(FORBIDDEN, libc::EPERM);
    rules.reject(ABSENT, libc::ENOSYS);
    rules.compile(FIRST_UNKNOWN)
}

#[cfg(test)]
mod tests;
