//! What this machine can enforce on commands, found out once, and the parts of it that are the same for every command.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use mainstay_core::{Error, Result};

use super::cgroup::Cgroup;
use super::landlock::{self, Rights, Rule};
use super::mounts::{FileTree, MAX_BELOW_TMP, Namespaces};
use super::protections::{Counting, Level, protections};
use super::seccomp::{self, Program};
use super::syscalls;
use crate::exec::visibility::{Access, Visibility};
use crate::exec::{ExecSettings, Network, Protections, SandboxMode};

/// The confinement that every command gets.
pub(super) struct Confinement {
    /// `None` if the machine does not allow namespaces, or nothing is confined. With them protected names are hidden,
    /// and commands have a `/tmp` of their own.
    pub(super) namespaces: Option<Namespaces>,
    /// Whether Landlock and seccomp are in force, and so the processes of a command are held together by the kernel.
    pub(super) confined: bool,
    pub(super) rights: Rights,
    rules: Vec<Rule>,
    /// The Landlock ruleset that keeps signals inside, where there are no namespaces to do it.
    pub(super) signal_scope: Option<OwnedFd>,
    pub(super) filter: Option<Program>,
    pub(super) own_network: bool,
    /// Whether the server runs as root, who has more to give up.
    pub(super) root: bool,
    /// Mount options of the private `/tmp`.
    pub(super) tmp_options: CString,
    /// The highest process number of a namespace, as text; empty on kernels that have only one for the whole machine.
    pub(super) max_pid: CString,
    pub(super) protections: Protections,
}

/// Files about the machine that many programs read, where commands see the machine's own `/proc`.
const MACHINE: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/filesystems",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The first Landlock ABI that confines signals and abstract sockets. Without namespaces nothing else does.
const SIGNAL_SCOPE_ABI: i32 = 6;

/// The first kernel in which each process namespace has its own highest process number.
const PID_MAX_PER_NAMESPACE: (u32, u32) = (6, 14);

impl Confinement {
    /// Probes the machine and prepares what all commands share. An error says what is missing: then no command is run.
    /// `namespaces` is false in tests of what holds without them.
    pub(super) fn probe(
        settings: &ExecSettings,
        visibility: &Visibility,
        namespaces: bool,
        stack: &mut [u8],
        cgroup: Option<&Cgroup>,
    ) -> Result<Self> {
        let counting = counting(cgroup);
        let unconfined = Self::unconfined(settings, &counting);
        if settings.sandbox == SandboxMode::Off {
            return Ok(unconfined);
        }
        let Ok(abi) = syscalls::landlock_abi() else {
            return Err(refusal("this kernel has no Landlock, or it is disabled (lsm=)"));
        };
        let created =
            if namespaces { create_namespaces(visibility, stack) } else { Err("they are switched off".to_owned()) };
        let (namespaces, level) = match created {
            Ok(namespaces) => (Some(namespaces), Level::Namespaces),
            Err(why) => {
                check_without_namespaces(settings, visibility, abi, &why)?;
                (None, Level::Landlock { why })
            }
        };
        let rights = Rights::new(abi, settings.network);
        let rules = visibility.grants.iter().map(|grant| Rule::for_grant(grant, rights));
        let mut rules = rules.collect::<Result<Vec<_>>>()?;
        let mut signal_scope = None;
        if namespaces.is_none() {
            rules.extend(MACHINE.iter().filter_map(|path| Rule::for_file(path, rights.readable_file())));
            rules.extend(DEVICES.iter().filter_map(|path| Rule::for_file(path, rights.device())));
            signal_scope = Some(landlock::signal_scope()?);
        }
        Ok(Self {
            rights,
            rules,
            signal_scope,
            filter: Some(seccomp::build(settings.network, namespaces.is_some())?),
            confined: true,
            own_network: settings.network != Network::On,
            protections: protections(&level, settings, &counting),
            namespaces,
            ..unconfined
        })
    }

    /// What applies with the sandbox switched off. Commands then have the server's rights; only their end is ensured.
    fn unconfined(settings: &ExecSettings, counting: &Counting) -> Self {
        // The kernel takes no ceiling below 301: numbers below 300 are not used again.
        let max_pid = if counting.max_pid { (settings.processes + 301).to_string() } else { String::new() };
        let tmp = format!("mode=1777,size={}m,nr_inodes=1000000", settings.tmp_mb);
        Self {
            namespaces: None,
            confined: false,
            rights: Rights::new(0, settings.network),
            rules: Vec::new(),
            signal_scope: None,
            filter: None,
            own_network: false,
            root: counting.root,
            tmp_options: CString::new(tmp).unwrap_or_default(),
            max_pid: CString::new(max_pid).unwrap_or_default(),
            protections: protections(&Level::Off, settings, counting),
        }
    }

    /// The Landlock ruleset for one command, with its temporary directory; `None` if nothing is confined. Each command
    /// has its own: a rule that is added to a ruleset holds for all who use it.
    pub(super) fn ruleset(&self, tmp: Option<OwnedFd>) -> Result<Option<OwnedFd>> {
        if !self.confined {
            return Ok(None);
        }
        let tmp = tmp.map(|tmp| Rule { handle: tmp, allowed: self.rights.writable() });
        self.rights.create(self.rules.iter().chain(&tmp)).map(Some)
    }
}

/// What counts processes and memory on this machine.
fn counting(cgroup: Option<&Cgroup>) -> Counting {
    Counting {
        root: rustix::process::geteuid().is_root(),
        max_pid: kernel_release().is_some_and(|release| release >= PID_MAX_PER_NAMESPACE),
        processes: cgroup.and_then(|cgroup| cgroup.processes),
        memory: cgroup.and_then(|cgroup| cgroup.memory),
    }
}

/// The namespaces, or why the machine does not allow them, in words for the operator.
fn create_namespaces(visibility: &Visibility, stack: &mut [u8]) -> Result<Namespaces, String> {
    let tree = FileTree::new(visibility).ok_or("a path contains a NUL byte")?;
    if tree.below_tmp.len() > MAX_BELOW_TMP {
        return Err(format!("more than {MAX_BELOW_TMP} directories are beneath /tmp"));
    }
    Namespaces::create(tree, stack).map_err(|failure| failure.to_string())
}

/// Fails closed: what only namespaces can enforce must not be needed, and Landlock must be able to do the rest.
fn check_without_namespaces(settings: &ExecSettings, visibility: &Visibility, abi: i32, reason: &str) -> Result<()> {
    let problem = if settings.sandbox == SandboxMode::Strict {
        format!("namespaces are not available ({reason}), and sandbox = \"strict\" requires them")
    } else if settings.network == Network::Loopback {
        format!("network = \"loopback\" needs namespaces ({reason})")
    } else if abi < SIGNAL_SCOPE_ABI {
        format!(
            "namespaces are not available ({reason}), and without them Landlock of version {SIGNAL_SCOPE_ABI} is \
             needed (this kernel has {abi}), or the processes of a command could not be ended for certain"
        )
    } else if let Some((inner, outer)) = visibility.contradiction() {
        let read_only = if inner.access == Access::Read { "read-only but " } else { "" };
        format!(
            "{} is {read_only}inside {}, which commands may change, and without namespaces ({reason}) a command could \
             change it or put something else in its place; move it, or remove it from the configuration",
            inner.path.display(),
            outer.display()
        )
    } else {
        return Ok(());
    };
    Err(refusal(&problem))
}

/// The error for commands that cannot be confined; it names the two ways out.
fn refusal(reason: &str) -> Error {
    Error::unavailable(format!(
        "Commands cannot be run: {reason}. `mainstay doctor` reports what this machine can enforce; with sandbox = \
         \"off\" in the section [exec] commands run without protection."
    ))
}

/// Major and minor version of the running kernel.
fn kernel_release() -> Option<(u32, u32)> {
    let name = rustix::system::uname();
    let mut parts = name.release().to_str().ok()?.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
