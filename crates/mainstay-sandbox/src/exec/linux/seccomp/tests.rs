//! What the filter lets through, by running it as the kernel would.

use super::program::ARCHITECTURE;
use super::*;

const INET: u32 = libc::AF_INET.cast_unsigned();
const INET6: u32 = libc::AF_INET6.cast_unsigned();
const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
const NETLINK: u32 = libc::AF_NETLINK.cast_unsigned();
const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const DATAGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
const RAW: u32 = libc::SOCK_RAW.cast_unsigned();

/// Runs a program as the kernel would.
fn verdict(program: &Program, architecture: u32, number: i64, arguments: [u32; 6]) -> u32 {
    let word = |at: u32| match at {
        0 => u32::try_from(number).unwrap(),
        4 => architecture,
        // The upper half of an argument.
        at if at % 8 == 4 => 0,
        at => arguments[usize::try_from((at - 16) / 8).unwrap()],
    };
    let (mut at, mut held) = (0, 0);
    loop {
        let now = &program.0[at];
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
                    libc::BPF_JSET => held & now.k != 0,
                    other => panic!("{other}"),
                };
                at += usize::from(if yes { now.jt } else { now.jf });
            }
        }
    }
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

/// The kernel does the same for every command, so the number of instructions counts.
#[test]
fn an_ordinary_call_is_compared_with_few_numbers() {
    let program = build(Network::Off, true).unwrap();
    assert!(program.0.len() < 300, "{}", program.0.len());
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
    let program = build(Network::Off, false).unwrap();
    assert_eq!(verdict(&program, 0x4000_0003, libc::SYS_read, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
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
        let program = build(network, namespaces).unwrap();
        verdict(&program, ARCHITECTURE, libc::SYS_socketpair, [family, kind | FLAGS, 0, 0, 0, 0])
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
