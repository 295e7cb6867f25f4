//! The seccomp filter: system calls a command has no business making.

use libc::{c_long, sock_filter};

use crate::exec::settings::Network;

/// What is looked at before a call is refused.
enum When {
    Always,
    /// An argument, masked, has one of these values.
    Is {
        argument: u8,
        mask: u32,
        values: &'static [u32],
    },
    /// An argument has any of these bits.
    Has {
        argument: u8,
        bits: u32,
    },
    /// An argument has none of these values.
    IsNot {
        argument: u8,
        mask: u32,
        values: &'static [u32],
    },
    /// One argument has these bits, and another has any of those.
    Both {
        first: (u8, u32),
        second: (u8, u32),
    },
}

struct Rule {
    call: c_long,
    when: When,
    errno: i32,
}

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET)
    .cast_unsigned();

/// The bits that make a program run as its owner.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// With any of these a file is made, with a name or without, and the mode is looked at.
const CREATE: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

/// Calls that are refused whatever they are given.
const NEVER: &[c_long] = &[
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

/// Calls that seem not to exist, so that programs do without them. `clone3` and `openat2` hide their arguments behind a
/// pointer, which a filter cannot follow.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_openat2,
];

/// Calls that are refused for what they are given.
fn conditional() -> Vec<Rule> {
    let eperm = |call, when| Rule { call, when, errno: libc::EPERM };
    vec![
        eperm(libc::SYS_clone, When::Has { argument: 0, bits: NAMESPACES }),
        eperm(libc::SYS_ioctl, When::Is { argument: 1, mask: u32::MAX, values: TERMINAL_INPUT }),
        eperm(libc::SYS_personality, When::IsNot { argument: 0, mask: u32::MAX, values: &[0, u32::MAX] }),
        eperm(libc::SYS_fchmod, When::Has { argument: 1, bits: SET_ID }),
        eperm(libc::SYS_fchmodat, When::Has { argument: 2, bits: SET_ID }),
        eperm(FCHMODAT2, When::Has { argument: 2, bits: SET_ID }),
        eperm(libc::SYS_mknodat, When::Has { argument: 2, bits: SET_ID }),
        eperm(libc::SYS_openat, When::Both { first: (2, CREATE), second: (3, SET_ID) }),
        #[cfg(target_arch = "x86_64")]
        eperm(libc::SYS_chmod, When::Has { argument: 1, bits: SET_ID }),
        #[cfg(target_arch = "x86_64")]
        eperm(libc::SYS_mknod, When::Has { argument: 1, bits: SET_ID }),
        #[cfg(target_arch = "x86_64")]
        eperm(libc::SYS_creat, When::Has { argument: 1, bits: SET_ID }),
        #[cfg(target_arch = "x86_64")]
        eperm(libc::SYS_open, When::Both { first: (1, CREATE), second: (2, SET_ID) }),
    ]
}

const FCHMODAT2: c_long = 452;

/// Calls that change another process, and which argument says whose number it is; 0 is whoever calls. The one that
/// watches over a command must keep its handles and its share of the processor, or it could not end the command.
const OF_A_PROCESS: &[(c_long, u8)] = &[
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
];

/// Objects of the whole machine that have no path for Landlock to guard. Most can be reached by number, without having
/// been opened.
const SHARED: &[c_long] = &[
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

/// Which calls are refused because they reach others.
fn others(namespaces: bool) -> Vec<Rule> {
    let eperm = |call, when| Rule { call, when, errno: libc::EPERM };
    let is_not_self = |argument| When::IsNot { argument, mask: u32::MAX, values: &[0] };
    let mut rules: Vec<Rule> =
        OF_A_PROCESS.iter().map(|(call, argument)| eperm(*call, is_not_self(*argument))).collect();
    // Everything that the user runs.
    rules.push(eperm(libc::SYS_setpriority, When::Is { argument: 0, mask: u32::MAX, values: &[2] }));
    rules.push(eperm(libc::SYS_ioprio_set, When::Is { argument: 0, mask: u32::MAX, values: &[3] }));
    if !namespaces {
        // In a namespace nobody else is there, and the threads of a program do set each other's processors.
        rules.push(eperm(libc::SYS_sched_setaffinity, is_not_self(0)));
        rules.extend(SHARED.iter().map(|call| eperm(*call, When::Always)));
    }
    rules
}

/// Typing into a terminal on somebody else's behalf.
const TERMINAL_INPUT: &[u32] = &[0x5412, 0x541c];

const INET: u32 = libc::AF_INET.cast_unsigned();
const INET6: u32 = libc::AF_INET6.cast_unsigned();
const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
const NETLINK: u32 = libc::AF_NETLINK.cast_unsigned();
const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const DATAGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
const RAW: u32 = libc::SOCK_RAW.cast_unsigned();
const PACKETS: u32 = libc::SOCK_SEQPACKET.cast_unsigned();

/// Which sockets are refused.
fn sockets(network: Network, namespaces: bool) -> Vec<Rule> {
    let refuse = |when| Rule { call: libc::SYS_socket, when, errno: libc::EPERM };
    let families: &'static [u32] = match network {
        Network::Off => return vec![refuse(When::Always)],
        Network::Loopback | Network::On if namespaces => &[INET, INET6, NETLINK, UNIX],
        Network::Loopback | Network::On => &[INET, INET6, NETLINK],
    };
    vec![
        refuse(When::IsNot { argument: 0, mask: u32::MAX, values: families }),
        refuse(When::IsNot { argument: 1, mask: 0xf, values: &[STREAM, DATAGRAM, RAW, PACKETS] }),
        // Raw sockets are for the routing tables alone, which resolvers read; elsewhere they need a privilege.
        refuse(When::IsNot { argument: 2, mask: u32::MAX, values: PROTOCOLS }),
    ]
}

/// IP by default, ICMP, TCP, UDP, ICMPv6; and the routing tables, which have the number 0 too.
const PROTOCOLS: &[u32] = &[0, 1, 6, 17, 58];

/// Puts the whole filter together. In namespaces of its own a command may use what would otherwise reach others.
pub(super) fn build(network: Network, namespaces: bool) -> Vec<sock_filter> {
    let mut program = opening();
    let never = NEVER.iter().map(|call| Rule { call: *call, when: When::Always, errno: libc::EPERM });
    let absent = ABSENT.iter().map(|call| Rule { call: *call, when: When::Always, errno: libc::ENOSYS });
    let judged = conditional().into_iter().chain(others(namespaces)).chain(sockets(network, namespaces));
    for rule in never.chain(absent).chain(judged) {
        program.extend(compile(&rule));
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where the kernel puts the number and the architecture of a call.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// Where it puts the lower half of an argument.
fn argument_at(argument: u8) -> u32 {
    16 + 8 * u32::from(argument)
}

/// Other architectures have other numbers for the same calls: a program for one of them is ended.
fn opening() -> Vec<sock_filter> {
    let mut opening = vec![
        load(ARCHITECTURE_AT),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        give(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_AT),
    ];
    if cfg!(target_arch = "x86_64") {
        // The x32 numbers begin here.
        opening.extend([jump(libc::BPF_JGE, 0x4000_0000, 0, 1), refuse(libc::ENOSYS)]);
    }
    opening
}

/// One rule; the number of the call is loaded before and after it.
fn compile(rule: &Rule) -> Vec<sock_filter> {
    let test = match &rule.when {
        When::Always => vec![refuse(rule.errno)],
        When::Is { argument, mask, values } => {
            let mut test = vec![load(argument_at(*argument)), and(*mask)];
            for value in *values {
                test.extend([jump(libc::BPF_JEQ, *value, 0, 1), refuse(rule.errno)]);
            }
            test
        }
        When::Has { argument, bits } => {
            vec![load(argument_at(*argument)), jump(libc::BPF_JSET, *bits, 0, 1), refuse(rule.errno)]
        }
        When::IsNot { argument, mask, values } => {
            let mut test = vec![load(argument_at(*argument)), and(*mask)];
            for (passed, value) in values.iter().enumerate() {
                // Past the values that are left, and past the refusal.
                test.push(jump(libc::BPF_JEQ, *value, short(values.len() - passed), 0));
            }
            test.push(refuse(rule.errno));
            test
        }
        When::Both { first, second } => vec![
            load(argument_at(first.0)),
            jump(libc::BPF_JSET, first.1, 0, 3),
            load(argument_at(second.0)),
            jump(libc::BPF_JSET, second.1, 0, 1),
            refuse(rule.errno),
        ],
    };
    let number = u32::try_from(rule.call).unwrap_or(u32::MAX);
    let mut compiled = vec![jump(libc::BPF_JEQ, number, 0, short(test.len() + 1))];
    compiled.extend(test);
    compiled.push(load(NUMBER_AT));
    compiled
}

/// A distance; rules are far shorter than it can be.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

fn load(at: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at)
}

fn and(mask: u32) -> sock_filter {
    instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask)
}

fn jump(test: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | test | libc::BPF_K, yes, no, value)
}

fn give(verdict: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, verdict)
}

fn refuse(errno: i32) -> sock_filter {
    give(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would.
    fn verdict(program: &[sock_filter], architecture: u32, number: c_long, arguments: [u32; 6]) -> u32 {
        let word = |at: u32| match at {
            NUMBER_AT => u32::try_from(number).unwrap(),
            ARCHITECTURE_AT => architecture,
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
                _ => {
                    let yes = match code & 0xf0 {
                        libc::BPF_JEQ => held == now.k,
                        libc::BPF_JGE => held >= now.k,
                        _ => held & now.k != 0,
                    };
                    at += usize::from(if yes { now.jt } else { now.jf });
                }
            }
        }
    }

    fn here(network: Network, number: c_long, arguments: [u32; 6]) -> u32 {
        verdict(&build(network, false), ARCHITECTURE, number, arguments)
    }

    const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;

    #[test]
    fn ordinary_calls_pass() {
        for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_socketpair, libc::SYS_kill, libc::SYS_mmap] {
            assert_eq!(here(Network::Off, call, [0; 6]), ALLOWED, "{call}");
        }
    }

    #[test]
    fn every_listed_call_is_refused() {
        for call in NEVER {
            assert_eq!(here(Network::On, *call, [0; 6]), EPERM, "{call}");
        }
        for call in ABSENT {
            assert_eq!(here(Network::On, *call, [0; 6]), libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned());
        }
    }

    #[test]
    fn another_architecture_is_ended() {
        let program = build(Network::Off, false);
        assert_eq!(verdict(&program, 0x4000_0003, libc::SYS_read, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn new_namespaces_are_refused_and_threads_are_not() {
        let with = |flags: i32| here(Network::Off, libc::SYS_clone, [flags.cast_unsigned(), 0, 0, 0, 0, 0]);
        assert_eq!(with(libc::CLONE_NEWUSER | libc::SIGCHLD), EPERM);
        assert_eq!(with(libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_THREAD), ALLOWED);
    }

    #[test]
    fn set_id_bits_are_refused_and_other_modes_are_not() {
        assert_eq!(here(Network::Off, libc::SYS_fchmodat, [0, 0, 0o4755, 0, 0, 0]), EPERM);
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
        for (call, argument) in OF_A_PROCESS {
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
        for (call, arguments) in
            SHARED.iter().map(|call| (*call, [0; 6])).chain([(libc::SYS_sched_setaffinity, [7; 6])])
        {
            assert_eq!(here(Network::On, call, arguments), EPERM, "{call}");
            assert_eq!(verdict(&build(Network::On, true), ARCHITECTURE, call, arguments), ALLOWED, "{call}");
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
        assert_eq!(socket(Network::On, UNIX, STREAM), EPERM);
        assert_eq!(
            verdict(&build(Network::On, true), ARCHITECTURE, libc::SYS_socket, [UNIX, STREAM, 0, 0, 0, 0]),
            ALLOWED
        );
    }

    #[test]
    fn typing_into_a_terminal_is_refused_and_its_size_is_not() {
        assert_eq!(here(Network::Off, libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), EPERM);
        assert_eq!(here(Network::Off, libc::SYS_ioctl, [0, 0x5413, 0, 0, 0, 0]), ALLOWED);
    }
}
