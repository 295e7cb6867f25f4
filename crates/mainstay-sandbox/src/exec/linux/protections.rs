//! The protections in force, in words: callers read them in the result of a command, operators in `mainstay doctor`,
//! which also says what the kernel supports.

use super::limits::memory_limit;
use super::syscalls;
use crate::exec::protections::{NONE, limits_of_each};
use crate::exec::{ExecSettings, Finding, Network, Protections};

/// How much this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Level {
    Namespaces,
    Landlock { why: String },
    Off,
}

/// What limits the processes and memory of a command, besides the resource limits of each process.
#[derive(Debug, Clone, Default)]
pub(super) struct Counting {
    /// The server runs as root, for whom the limit of a user's processes does not hold.
    pub(super) root: bool,
    /// A process namespace can have its own highest process number.
    pub(super) max_pid: bool,
    /// Control groups: how many processes, and how many bytes, all commands may have together.
    pub(super) processes: Option<u32>,
    pub(super) memory: Option<u64>,
}

/// Describes the protections of a level.
pub(super) fn protections(level: &Level, settings: &ExecSettings, counting: &Counting) -> Protections {
    let limits = limits(settings, level, counting);
    match level {
        Level::Namespaces => Protections {
            level: "namespaces".into(),
            filesystem:
                "only the workspace, system programs and toolchains are visible; writable are the writable roots \
                     and a private /tmp (mount namespace, Landlock)"
                    .into(),
            network: network(settings.network, true),
            processes:
                "sees and signals only its own processes, all of which end with the call (process namespace, Landlock)"
                    .into(),
            privileges: "none, and none to gain (user namespace, no_new_privs, seccomp)".into(),
            protected_names: "hidden: those that existed when the command started, in the roots and in the paths of \
                          exec.read, exec.write and exec.home; one that is created or replaced while it runs is \
                          visible (mount namespace)"
                .into(),
            limits,
        },
        Level::Landlock { why } => Protections {
            level: "landlock".into(),
            filesystem: format!(
                "reads the workspace, system programs and toolchains; writes writable roots and a private TMPDIR \
                 (Landlock); names, sizes and modes of other files are visible, and modes and times of the user's own can \
             be changed, because there is no mount namespace ({why})"
            ),
            network: network(settings.network, false),
            processes: "signals only its own processes, all of which end with the call (Landlock, subreaper)".into(),
            privileges: "none, and none to gain (no_new_privs, seccomp)".into(),
            protected_names: format!("not hidden: that needs a mount namespace ({why})"),
            limits,
        },
        Level::Off => Protections {
            level: "off".into(),
            filesystem: NONE.into(),
            network: NONE.into(),
            processes: "ended when the call ends (subreaper)".into(),
            privileges: "those of the server, none to gain (no_new_privs)".into(),
            protected_names: NONE.into(),
            limits,
        },
    }
}

/// Which network a command has, and what enforces it.
fn network(network: Network, namespace: bool) -> String {
    let text = match (network, namespace) {
        (Network::Off, true) => "none (network namespace, seccomp)",
        (Network::Off, false) => "none (seccomp, Landlock)",
        (Network::Loopback, _) => "a loopback shared with other commands of this server (network namespace, seccomp)",
        (Network::On, _) => "open: exec.network = \"on\"; no raw sockets (seccomp)",
    };
    text.into()
}

/// Only limits that something enforces on this machine are promised.
fn limits(settings: &ExecSettings, level: &Level, counting: &Counting) -> String {
    let mut limits = vec![format!("{} (rlimits)", limits_of_each(settings))];
    if *level != Level::Off {
        limits.push(format!(
            "{} MB of private memory for each process, not counting shared memory and mapped files (rlimit)",
            memory_limit(settings) >> 20
        ));
    }
    limits.extend(counting.memory.map(|bytes| format!("{} MB for all commands together (cgroup)", bytes >> 20)));
    limits.push(processes(settings, level, counting));
    limits.join("; ")
}

/// What limits the number of processes. The limit of a user does not hold for root, so without a namespace or a control
/// group there is none, and that is said.
fn processes(settings: &ExecSettings, level: &Level, counting: &Counting) -> String {
    let each = match level {
        Level::Namespaces | Level::Landlock { .. } if !counting.root => {
            Some(format!("{} processes (rlimit)", settings.processes))
        }
        Level::Namespaces if counting.max_pid => {
            Some(format!("{} processes, if the namespace has its own limit (pid_max)", settings.processes))
        }
        Level::Namespaces | Level::Landlock { .. } | Level::Off => None,
    };
    let together = counting.processes.map(|most| format!("{most} processes of all commands together (cgroup)"));
    match (each, together) {
        (Some(each), Some(together)) => format!("{each}; {together}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) if *level == Level::Off => "the number of processes is not limited: sandbox = \"off\"".into(),
        (None, None) => "the number of processes is not limited: the server runs as root, without a cgroup".into(),
    }
}

/// What to do instead of running commands without protection.
pub(crate) const OFF_REMEDY: &str = "Set sandbox = \"on\" in [exec].";

/// What this kernel supports, before anything is set up.
pub(crate) fn findings() -> Vec<Finding> {
    vec![
        match syscalls::landlock_abi() {
            Ok(version) => Finding::good("landlock", format!("version {version}")),
            Err(_) => Finding::missing(
                "landlock",
                "not in this kernel, or disabled",
                "Use Linux 5.13 or newer, with landlock in the kernel's lsm= list.",
            ),
        },
        if syscalls::has_seccomp() {
            Finding::good("seccomp", "system calls can be filtered")
        } else {
            Finding::missing(
                "seccomp",
                "the kernel does not support filters",
                "Use a kernel with CONFIG_SECCOMP_FILTER.",
            )
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits_of(level: &Level, counting: &Counting) -> String {
        let settings = ExecSettings { processes: 77, memory_mb: Some(512), ..ExecSettings::default() };
        protections(level, &settings, counting).limits
    }

    #[test]
    fn root_is_told_that_its_processes_are_not_counted_unless_something_counts_them() {
        let alone = Level::Landlock { why: String::new() };
        let root = Counting { root: true, max_pid: true, ..Counting::default() };
        assert!(limits_of(&alone, &Counting::default()).contains("77 processes (rlimit)"));
        assert!(limits_of(&alone, &root).contains("processes is not limited"));
        assert!(limits_of(&Level::Namespaces, &root).contains("(pid_max)"));
        let counted = limits_of(&alone, &Counting { processes: Some(616), ..root });
        assert!(counted.contains("616 processes of all") && !counted.contains("not limited"), "{counted}");
    }

    #[test]
    fn memory_is_promised_only_as_far_as_it_is_counted() {
        assert!(
            limits_of(&Level::Namespaces, &Counting::default()).contains("512 MB of private memory for each process")
        );
        assert!(!limits_of(&Level::Off, &Counting::default()).contains("memory"));
    }
}
