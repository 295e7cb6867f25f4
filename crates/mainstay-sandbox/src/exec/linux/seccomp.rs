//! The system call filter (seccomp-BPF) of commands.
//!
//! The rules are compiled once, by the `seccompiler` crate, in the server; a command's process only installs the
//! programs. That crate has one action per program, so there are two: calls that fail with `EPERM`, and calls that seem
//! not to exist (`ENOSYS`). It has no rule about ranges of call numbers, so three instructions of our own reject those
//! that nobody has looked at here. Both programs end a process of another architecture, whose call numbers mean other
//! calls.

use std::collections::BTreeMap;

use mainstay_core::{Error, Result};
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use crate::exec::Network;

/// The system call with this number, and the rules under which it is rejected: any of them suffices, none means always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The flags of `clone` that create namespaces, in which a command would have capabilities.
const NAMESPACES: &[i32] = &[
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
const SOCKET_KIND_MASK: u64 = 0xf;

/// IP by default, ICMP, TCP, UDP, ICMPv6; routing netlink has the number 0 too.
const PROTOCOLS: [i32; 5] = [0, libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6];

/// A rule from conditions that must all hold. Arguments are compared as 32 bits, as the kernel reads these.
fn rule<const N: usize>(conditions: [(u8, SeccompCmpOp, u32); N]) -> Result<SeccompRule, BackendError> {
    let condition = |(argument, operator, value): (u8, SeccompCmpOp, u32)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
    };
    SeccompRule::new(conditions.into_iter().map(condition).collect::<Result<_, _>>()?)
}

/// The condition that an argument has a bit set.
fn has(argument: u8, bit: u32) -> (u8, SeccompCmpOp, u32) {
    (argument, SeccompCmpOp::MaskedEq(bit.into()), bit)
}

/// One rule for each of some bits: any of them is rejected.
fn has_any(argument: u8, bits: impl IntoIterator<Item = u32>) -> Result<Vec<SeccompRule>, BackendError> {
    bits.into_iter().map(|bit| rule([has(argument, bit)])).collect()
}

/// One rule for each of some values: any of them is rejected.
fn is_any(argument: u8, values: impl IntoIterator<Item = u32>) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| rule([(argument, SeccompCmpOp::Eq, value)])).collect()
}

/// A rule that rejects every value but these.
fn is_none<const N: usize>(argument: u8, values: [u32; N]) -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![rule(values.map(|value| (argument, SeccompCmpOp::Ne, value)))?])
}

/// Rejects opening with a set-user-ID or set-group-ID mode, if the call creates a file.
fn creates_set_id(flags: u8, mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let pairs = CREATE.iter().flat_map(|create| SET_ID.map(|bit| (create.cast_unsigned(), bit)));
    pairs.map(|(create, bit)| rule([has(flags, create), has(mode, bit)])).collect()
}

/// Calls that are rejected for their arguments.
fn conditional_rules(rules: &mut Rules) -> Result<(), BackendError> {
    rules.insert(libc::SYS_clone, has_any(0, NAMESPACES.iter().map(|flag| flag.cast_unsigned()))?);
    rules.insert(libc::SYS_ioctl, is_any(1, TERMINAL_INPUT)?);
    rules.insert(libc::SYS_personality, is_none(0, [0, u32::MAX])?);
    rules.insert(libc::SYS_fchmod, has_any(1, SET_ID)?);
    rules.insert(libc::SYS_fchmodat, has_any(2, SET_ID)?);
    rules.insert(FCHMODAT2, has_any(2, SET_ID)?);
    rules.insert(libc::SYS_mknodat, has_any(2, SET_ID)?);
    rules.insert(libc::SYS_openat, creates_set_id(2, 3)?);
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_chmod, has_any(1, SET_ID)?);
        rules.insert(libc::SYS_mknod, has_any(1, SET_ID)?);
        rules.insert(libc::SYS_creat, has_any(1, SET_ID)?);
        rules.insert(libc::SYS_open, creates_set_id(1, 2)?);
    }
    Ok(())
}

/// Calls that are rejected because they reach other processes. In namespaces of its own a command may share memory, and
/// the threads of a program do set each other's processors.
fn other_process_rules(rules: &mut Rules, namespaces: bool) -> Result<(), BackendError> {
    for (call, argument) in OTHER_PROCESS {
        rules.insert(*call, is_none(*argument, [0])?);
    }
    // Everything that the user runs.
    let (user, all_of_user) = (libc::PRIO_USER, 3);
    rules.entry(libc::SYS_setpriority).or_default().extend(is_any(0, [user])?);
    rules.entry(libc::SYS_ioprio_set).or_default().extend(is_any(0, [all_of_user])?);
    if !namespaces {
        rules.insert(libc::SYS_sched_setaffinity, is_none(0, [0])?);
        rules.extend(SHARED_OBJECTS.iter().map(|call| (*call, Vec::new())));
    }
    Ok(())
}

/// Which pairs of sockets are rejected. The ends of a stream stay connected to each other. A datagram socket does not: it
/// sends to any path that a command sees, so it is a socket like any other (and so is a raw one, which the kernel treats
/// as the same).
fn socket_pair_rules(network: Network, namespaces: bool) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = is_none(0, [libc::AF_UNIX.cast_unsigned()])?;
    if network == Network::Off || !namespaces {
        let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
        rules.extend(is_another_kind(&connected)?);
    }
    Ok(rules)
}

/// Rejects every kind of socket but these. The other bits of the argument are flags, and there is no operator for "masked
/// and not equal".
fn is_another_kind(kinds: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let others = (0..16).filter(|kind| !kinds.contains(kind));
    others.map(|kind| rule([(1, SeccompCmpOp::MaskedEq(SOCKET_KIND_MASK), kind.cast_unsigned())])).collect()
}

/// Which sockets are rejected.
fn socket_rules(network: Network, namespaces: bool) -> Result<Vec<SeccompRule>, BackendError> {
    if network == Network::Off {
        return Ok(Vec::new());
    }
    let [inet, inet6, netlink, unix] =
        [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_UNIX].map(i32::cast_unsigned);
    // Without a mount namespace, sockets of other programs could be found by their path.
    let mut rules =
        if namespaces { is_none(0, [inet, inet6, netlink, unix])? } else { is_none(0, [inet, inet6, netlink])? };
    rules.extend(is_another_kind(&SOCKET_KINDS)?);
    // Raw sockets are for netlink, which resolvers read; others need a privilege.
    rules.extend(is_none(2, PROTOCOLS.map(i32::cast_unsigned))?);
    Ok(rules)
}

/// Rejects the call numbers from [`FIRST_UNKNOWN`] on, before anything else is looked at.
fn reject_unknown(program: &mut BpfProgram) {
    const NUMBER_OFFSET: u32 = 0;
    let instruction = |code: u32, jt, jf, k| sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k };
    let instructions = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER_OFFSET),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST_UNKNOWN),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
    ];
    program.splice(..0, instructions);
}

/// A program that returns the error for calls that match a rule, and allows everything else.
fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let rejected = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, rejected, architecture)?.try_into()
}

/// The programs that a command installs. With `namespaces` it may use what would otherwise reach other processes.
pub(super) fn build(network: Network, namespaces: bool) -> Result<[BpfProgram; 2]> {
    let build = || {
        let mut rejected = Rules::new();
        conditional_rules(&mut rejected)?;
        other_process_rules(&mut rejected, namespaces)?;
        rejected.insert(libc::SYS_socket, socket_rules(network, namespaces)?);
        rejected.insert(libc::SYS_socketpair, socket_pair_rules(network, namespaces)?);
        rejected.extend(FORBIDDEN.iter().map(|call| (*call, Vec::new())));
        let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
        let mut absent = compile(absent, libc::ENOSYS)?;
        reject_unknown(&mut absent);
        Ok([compile(rejected, libc::EPERM)?, absent])
    };
    build().map_err(|error: BackendError| Error::internal(format!("the system call filter: {error}")))
}

/// Installs the programs in this process. Two system calls for each, and no allocation.
pub(super) fn install(programs: &[BpfProgram]) -> rustix::io::Result<()> {
    let errno = |error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => Errno::from_io_error(&error),
        seccompiler::Error::Backend(_) | seccompiler::Error::EmptyFilter | seccompiler::Error::ThreadSync(_) => None,
    };
    programs.iter().try_for_each(|program| {
        seccompiler::apply_filter(program).map_err(|error| errno(error).unwrap_or(Errno::INVAL))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    const ARCHITECTURE: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const ARCHITECTURE: u32 = 0xc000_00b7;

    const INET: u32 = libc::AF_INET.cast_unsigned();
    const INET6: u32 = libc::AF_INET6.cast_unsigned();
    const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
    const NETLINK: u32 = libc::AF_NETLINK.cast_unsigned();
    const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
    const DATAGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
    const RAW: u32 = libc::SOCK_RAW.cast_unsigned();

    /// Runs a program as the kernel would.
    fn run(program: &[sock_filter], architecture: u32, number: i64, arguments: [u32; 6]) -> u32 {
        let word = |at: u32| match at {
            0 => u32::try_from(number).unwrap(),
            4 => architecture,
            // The upper half of an argument.
            at if at % 8 == 4 => 0,
            at => arguments[usize::try_from((at - 16) / 8).unwrap()],
        };
        let (mut at, mut held) = (0, 0);
        loop {
            let now = &program[at];
            let code = u32::from(now.code);
            at += 1;
            match code & 7 {
                libc::BPF_LD => held = word(now.k),
                libc::BPF_ALU => held &= now.k,
                libc::BPF_RET => return now.k,
                _ if code & 0xf0 == libc::BPF_JA => at += usize::try_from(now.k).unwrap(),
                _ => {
                    let yes = match code & 0xf0 {
                        libc::BPF_JEQ => held == now.k,
                        libc::BPF_JGE => held >= now.k,
                        libc::BPF_JGT => held > now.k,
                        other => panic!("{other}"),
                    };
                    at += usize::from(if yes { now.jt } else { now.jf });
                }
            }
        }
    }

    /// The kernel runs every program and takes the strictest result.
    fn verdict(programs: &[BpfProgram], architecture: u32, number: i64, arguments: [u32; 6]) -> u32 {
        let mut verdicts = programs.iter().map(|program| run(program, architecture, number, arguments));
        verdicts.find(|verdict| *verdict != ALLOWED).unwrap_or(ALLOWED)
    }

    fn here(network: Network, number: i64, arguments: [u32; 6]) -> u32 {
        verdict(&build(network, false).unwrap(), ARCHITECTURE, number, arguments)
    }

    const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;

    #[test]
    fn ordinary_calls_pass() {
        for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_kill, libc::SYS_mmap] {
            assert_eq!(here(Network::Off, call, [0; 6]), ALLOWED, "{call}");
        }
    }

    #[test]
    fn every_listed_call_is_refused() {
        for call in FORBIDDEN {
            assert_eq!(here(Network::On, *call, [0; 6]), EPERM, "{call}");
        }
        for call in ABSENT {
            assert_eq!(here(Network::On, *call, [0; 6]), ENOSYS, "{call}");
        }
    }

    #[test]
    fn another_architecture_is_ended() {
        let programs = build(Network::Off, false).unwrap();
        assert_eq!(verdict(&programs, 0x4000_0003, libc::SYS_read, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn calls_that_nobody_has_looked_at_are_refused() {
        let (open_tree_attr, file_setattr, future) = (467, 469, 1000);
        for number in [open_tree_attr, file_setattr, future] {
            assert_eq!(here(Network::Off, number, [0; 6]), ENOSYS, "{number}");
        }
        let removexattrat = 466;
        assert_eq!(here(Network::Off, removexattrat, [0; 6]), ALLOWED);
    }

    #[test]
    fn x32_numbers_are_refused() {
        for number in [0x4000_0000, 0x4000_0000 + libc::SYS_read, 0x7fff_ffff] {
            assert_eq!(here(Network::Off, number, [0; 6]), ENOSYS, "{number}");
        }
    }

    #[test]
    fn new_namespaces_are_refused_and_threads_are_not() {
        let with = |flags: i32| here(Network::Off, libc::SYS_clone, [flags.cast_unsigned(), 0, 0, 0, 0, 0]);
        for namespace in NAMESPACES {
            assert_eq!(with(namespace | libc::SIGCHLD), EPERM);
        }
        assert_eq!(with(libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_THREAD), ALLOWED);
    }

    #[test]
    fn set_id_bits_are_refused_and_other_modes_are_not() {
        const CREATE: u32 = libc::O_CREAT.cast_unsigned();
        assert_eq!(here(Network::Off, libc::SYS_fchmodat, [0, 0, 0o4755, 0, 0, 0]), EPERM);
        assert_eq!(here(Network::Off, libc::SYS_fchmodat, [0, 0, 0o2755, 0, 0, 0]), EPERM);
        assert_eq!(here(Network::Off, libc::SYS_fchmodat, [0, 0, 0o755, 0, 0, 0]), ALLOWED);
        assert_eq!(here(Network::Off, libc::SYS_openat, [0, 0, CREATE, 0o4755, 0, 0]), EPERM);
        assert_eq!(here(Network::Off, libc::SYS_openat, [0, 0, CREATE, 0o755, 0, 0]), ALLOWED);
        assert_eq!(here(Network::Off, libc::SYS_openat, [0, 0, 0, 0o4755, 0, 0]), ALLOWED);
        let nameless = libc::O_TMPFILE.cast_unsigned();
        assert_eq!(here(Network::Off, libc::SYS_openat, [0, 0, nameless, 0o4755, 0, 0]), EPERM);
        let directory = libc::O_DIRECTORY.cast_unsigned();
        assert_eq!(here(Network::Off, libc::SYS_openat, [0, 0, directory, 0o4755, 0, 0]), ALLOWED);
    }

    #[test]
    fn a_process_changes_itself_and_no_other() {
        for (call, argument) in OTHER_PROCESS {
            let mut arguments = [0; 6];
            assert_eq!(here(Network::On, *call, arguments), ALLOWED, "{call}");
            arguments[usize::from(*argument)] = 7;
            assert_eq!(here(Network::On, *call, arguments), EPERM, "{call}");
        }
        assert_eq!(here(Network::On, libc::SYS_setpriority, [2, 0, 0, 0, 0, 0]), EPERM);
        assert_eq!(here(Network::On, libc::SYS_ioprio_set, [3, 0, 0, 0, 0, 0]), EPERM);
    }

    #[test]
    fn what_the_whole_machine_shares_is_refused_where_there_is_no_namespace() {
        let affinity = (libc::SYS_sched_setaffinity, [7; 6]);
        for (call, arguments) in SHARED_OBJECTS.iter().map(|call| (*call, [0; 6])).chain([affinity]) {
            assert_eq!(here(Network::On, call, arguments), EPERM, "{call}");
            let inside = build(Network::On, true).unwrap();
            assert_eq!(verdict(&inside, ARCHITECTURE, call, arguments), ALLOWED, "{call}");
        }
    }

    #[test]
    fn sockets_follow_the_network_setting() {
        let socket = |network, family, kind| here(network, libc::SYS_socket, [family, kind, 0, 0, 0, 0]);
        for family in [INET, INET6, UNIX, NETLINK, 17, 40] {
            assert_eq!(socket(Network::Off, family, STREAM), EPERM, "{family}");
        }
        assert_eq!(socket(Network::On, INET, STREAM | libc::SOCK_CLOEXEC.cast_unsigned()), ALLOWED);
        assert_eq!(socket(Network::On, INET6, DATAGRAM), ALLOWED);
        assert_eq!(socket(Network::On, 17, RAW), EPERM);
        assert_eq!(socket(Network::On, INET, 0xa | libc::SOCK_CLOEXEC.cast_unsigned()), EPERM);
        assert_eq!(here(Network::On, libc::SYS_socket, [INET, STREAM, 132, 0, 0, 0]), EPERM);
        assert_eq!(socket(Network::On, UNIX, STREAM), EPERM);
        let inside = build(Network::On, true).unwrap();
        assert_eq!(verdict(&inside, ARCHITECTURE, libc::SYS_socket, [UNIX, STREAM, 0, 0, 0, 0]), ALLOWED);
    }

    #[test]
    fn pairs_of_sockets_reach_nobody_else() {
        const FLAGS: u32 = libc::SOCK_CLOEXEC.cast_unsigned() | libc::SOCK_NONBLOCK.cast_unsigned();
        const PACKETS: u32 = libc::SOCK_SEQPACKET.cast_unsigned();
        let pair = |network, namespaces, family, kind| {
            let programs = build(network, namespaces).unwrap();
            verdict(&programs, ARCHITECTURE, libc::SYS_socketpair, [family, kind | FLAGS, 0, 0, 0, 0])
        };
        // Unix sockets of their own are allowed to commands only with a network and a file tree of their own.
        for (network, namespaces, datagrams) in [
            (Network::Off, true, EPERM),
            (Network::Off, false, EPERM),
            (Network::On, false, EPERM),
            (Network::On, true, ALLOWED),
            (Network::Loopback, true, ALLOWED),
        ] {
            for kind in [STREAM, PACKETS] {
                assert_eq!(pair(network, namespaces, UNIX, kind), ALLOWED);
            }
            for kind in [DATAGRAM, RAW] {
                assert_eq!(pair(network, namespaces, UNIX, kind), datagrams, "{network:?}");
            }
            for family in [INET, NETLINK, 30] {
                assert_eq!(pair(network, namespaces, family, STREAM), EPERM, "{family}");
            }
        }
    }

    #[test]
    fn typing_into_a_terminal_is_refused_and_its_size_is_not() {
        assert_eq!(here(Network::Off, libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), EPERM);
        assert_eq!(here(Network::Off, libc::SYS_ioctl, [0, 0x5413, 0, 0, 0, 0]), ALLOWED);
    }
}
