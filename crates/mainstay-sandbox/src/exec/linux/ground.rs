//! What commands stand on, found out once: what this machine can enforce, and the parts of it that never change.

use std::ffi::CString;

use libc::sock_filter;
use mainstay_core::{Error, Result};

use super::cgroup::Group;
use super::init::MOST_BENEATH;
use super::landlock::{Rights, Rule};
use super::layout::Layout;
use super::level::{Counting, Level};
use super::stage::Stage;
use super::{filter, sys};
use crate::exec::protections::Protections;
use crate::exec::reach::Reach;
use crate::exec::settings::{ExecSettings, Network, SandboxMode};

pub(crate) struct Ground {
    pub(super) stage: Option<Stage>,
    pub(super) rights: Rights,
    pub(super) rules: Vec<Rule>,
    pub(super) filter: Vec<sock_filter>,
    /// Landlock and seccomp are in force.
    pub(super) confined: bool,
    pub(super) own_network: bool,
    /// The server runs as root, who has to give up more.
    pub(super) root: bool,
    pub(super) tmp_options: CString,
    /// The highest process number of a namespace, as text; empty where the kernel has only one for the whole machine.
    pub(super) process_ceiling: CString,
    pub(crate) protections: Protections,
}

/// Files that say what machine this is, for programs that look.
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

/// From this version on signals and abstract sockets are confined, without which nothing holds outside of namespaces.
const LANDLOCK_ALONE: i64 = 6;

impl Ground {
    /// `namespaces` is switched off by tests of what holds without them.
    pub(super) fn find(
        settings: &ExecSettings,
        reach: &Reach,
        namespaces: bool,
        stack: &mut [u8],
        group: Option<&Group>,
    ) -> Result<Self> {
        if settings.sandbox == SandboxMode::Off {
            return Ok(Self::open(settings, group));
        }
        let Ok(version) = sys::landlock_version() else {
            return Err(refusal("this kernel has no Landlock, or it is switched off (lsm=)"));
        };
        let staged = if namespaces { build_stage(reach, stack) } else { Err("they are switched off".to_owned()) };
        let (stage, reason) = match staged {
            Ok(stage) => (Some(stage), String::new()),
            Err(reason) => (None, reason),
        };
        if stage.is_none() {
            check_without_namespaces(settings, reach, version, &reason)?;
        }
        let rights = Rights::of(version, settings.network);
        let mut rules = reach.grants.iter().map(|grant| Rule::for_grant(grant, rights)).collect::<Result<Vec<_>>>()?;
        if stage.is_none() {
            rules.extend(MACHINE.iter().filter_map(|path| Rule::for_file(path, rights.readable_file())));
            rules.extend(DEVICES.iter().filter_map(|path| Rule::for_file(path, rights.device())));
        }
        let level = if stage.is_some() { Level::Namespaces } else { Level::Landlock { why: reason } };
        let open = Self::open(settings, group);
        Ok(Self {
            rights,
            rules,
            filter: filter::build(settings.network, stage.is_some()),
            confined: true,
            own_network: settings.network != Network::On,
            protections: Protections::of(&level, settings, &counting(group, !open.process_ceiling.is_empty())),
            stage,
            ..open
        })
    }

    /// Without any confinement.
    fn open(settings: &ExecSettings, group: Option<&Group>) -> Self {
        let per_namespace = kernel_release().is_some_and(|release| release >= (6, 14));
        // Numbers below 300 are used only once, and the kernel takes no lower ceiling.
        let ceiling = if per_namespace { (settings.processes + 301).to_string() } else { String::new() };
        let tmp = format!("mode=1777,size={}m,nr_inodes=1000000", settings.tmp_mb);
        Self {
            stage: None,
            rights: Rights::of(0, settings.network),
            rules: Vec::new(),
            filter: Vec::new(),
            confined: false,
            own_network: false,
            root: rustix::process::geteuid().is_root(),
            tmp_options: CString::new(tmp).unwrap_or_default(),
            process_ceiling: CString::new(ceiling).unwrap_or_default(),
            protections: Protections::of(&Level::Off, settings, &counting(group, per_namespace)),
        }
    }

    pub(crate) fn hides_names(&self) -> bool {
        self.stage.is_some()
    }
}

fn counting(group: Option<&Group>, ceiling: bool) -> Counting {
    Counting {
        root: rustix::process::geteuid().is_root(),
        ceiling,
        processes: group.and_then(|group| group.processes),
        memory: group.and_then(|group| group.memory),
    }
}

fn build_stage(reach: &Reach, stack: &mut [u8]) -> Result<Stage, String> {
    let layout = Layout::of(reach).ok_or("a path has a NUL in it")?;
    if layout.beneath_tmp.len() > MOST_BENEATH {
        return Err(format!("more than {MOST_BENEATH} directories lie beneath /tmp"));
    }
    Stage::build(layout, stack).map_err(|failure| failure.to_string())
}

fn check_without_namespaces(settings: &ExecSettings, reach: &Reach, version: i64, reason: &str) -> Result<()> {
    if settings.sandbox == SandboxMode::Strict {
        return Err(refusal(&format!(
            "namespaces are not to be had ({reason}), and sandbox = \"strict\" asks for them"
        )));
    }
    if settings.network == Network::Loopback {
        return Err(refusal(&format!("network = \"loopback\" needs namespaces ({reason})")));
    }
    if version < LANDLOCK_ALONE {
        return Err(refusal(&format!(
            "namespaces are not to be had ({reason}), and without them Landlock of version {LANDLOCK_ALONE} is needed \
             (this kernel has {version}), or the processes of a command could not be ended for certain"
        )));
    }
    if let Some((inner, outer)) = reach.contradiction() {
        return Err(refusal(&format!(
            "{} may only be read but lies in {}, which commands may change, and without namespaces ({reason}) the one \
             cannot be kept from them when the other is given; move it elsewhere, or make both the same",
            inner.display(),
            outer.display()
        )));
    }
    Ok(())
}

fn refusal(reason: &str) -> Error {
    Error::unavailable(format!(
        "Commands cannot be run: {reason}. `mainstay doctor` says what this machine can enforce; with sandbox = \"off\" \
         in the section [exec] commands run without protection."
    ))
}

fn kernel_release() -> Option<(u32, u32)> {
    let name = rustix::system::uname();
    let mut parts = name.release().to_str().ok()?.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
