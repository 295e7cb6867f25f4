//! Which files a command may open, as Landlock rules.
//!
//! The `landlock` crate creates the ruleset, in the server and before the fork. A command's process adds the rules about
//! its own mounts, which do not exist earlier, and enforces the ruleset. The two system calls for that are ours: the crate
//! does not promise to be safe between fork and exec.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetError, Scope,
};
use mainstay_core::{Error, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::syscalls;
use crate::exec::Network;
use crate::exec::visibility::{Access, Grant};

/// The newest ABI whose access rights are used here. A newer kernel is asked for these rights only, so that a new right
/// is not denied to every command before the rules here say who gets it.
const NEWEST_ABI: i32 = 6;

/// The access rights that this kernel can restrict, all of which are denied unless a rule grants them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    abi: ABI,
    network: Network,
}

impl Rights {
    pub(super) fn new(abi: i32, network: Network) -> Self {
        Self { abi: ABI::from(abi.min(NEWEST_ABI)), network }
    }

    /// Rights that make sense only for directories are left out for files: the kernel rejects such a rule.
    fn for_grant(self, access: Access, directory: bool) -> BitFlags<AccessFs> {
        let granted = match access {
            Access::Read => AccessFs::from_read(self.abi),
            Access::Write => self.writable(),
        };
        if directory { granted } else { granted & AccessFs::from_file(self.abi) }
    }

    /// Everything but creating device files, and `ioctl` on those that exist.
    pub(super) fn writable(self) -> BitFlags<AccessFs> {
        AccessFs::from_all(self.abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
    }

    /// Reading files and directories, and executing programs.
    pub(super) fn readable(self) -> BitFlags<AccessFs> {
        AccessFs::from_read(self.abi)
    }

    /// For a file that is not executable.
    pub(super) fn readable_file(self) -> BitFlags<AccessFs> {
        AccessFs::from_all(self.abi) & AccessFs::ReadFile
    }

    /// For a device file.
    pub(super) fn device(self) -> BitFlags<AccessFs> {
        AccessFs::from_file(self.abi) & !BitFlags::from(AccessFs::Execute)
    }

    /// For a directory of device files.
    pub(super) fn devices(self) -> BitFlags<AccessFs> {
        self.device() | AccessFs::ReadDir
    }

    /// A ruleset with these rules. Fails if the kernel cannot enforce all of it.
    pub(super) fn create<'r>(self, rules: impl Iterator<Item = &'r Rule>) -> Result<OwnedFd> {
        let create = || {
            let mut ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(self.abi))?;
            if self.abi >= ABI::V4 && self.network == Network::Off {
                ruleset = ruleset.handle_access(AccessNet::from_all(self.abi))?;
            }
            if self.abi >= ABI::V6 {
                ruleset = ruleset.scope(Scope::from_all(self.abi))?;
            }
            Ok(ruleset.create()?.into())
        };
        let ruleset = handle_of(create())?;
        // Not by the crate, which looks at every file once more: every command has about a hundred rules, and the kernel
        // rejects those that do not fit.
        for rule in rules {
            syscalls::landlock_add_rule(&ruleset, &rule.handle, rule.allowed.bits())
                .map_err(|errno| Error::internal(format!("a Landlock rule: {errno}")))?;
        }
        Ok(ruleset)
    }
}

/// The crate returns no handle on a kernel without Landlock; that is an error here, never a silent success.
fn handle_of(created: Result<Option<OwnedFd>, RulesetError>) -> Result<OwnedFd> {
    let cannot = |reason: &dyn std::fmt::Display| Error::internal(format!("the Landlock ruleset: {reason}"));
    created.map_err(|error| cannot(&error))?.ok_or_else(|| cannot(&"not supported"))
}

/// A ruleset that keeps the signals of a process inside: they reach only itself and what it starts. Needs ABI 6.
pub(super) fn signal_scope() -> Result<OwnedFd> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    handle_of(ruleset.scope(Scope::Signal).and_then(Ruleset::create).map(Into::into))
}

/// Enforces [`signal_scope`]. This process will send a signal to everybody because of it, so it is tried out on the
/// parent process first: that must be out of reach.
pub(super) fn enforce_signal_scope(ruleset: &OwnedFd) -> rustix::io::Result<()> {
    syscalls::landlock_restrict_self(ruleset)?;
    match rustix::process::getppid().map(rustix::process::test_kill_process) {
        Some(Err(Errno::PERM)) => Ok(()),
        Some(Ok(()) | Err(_)) | None => Err(Errno::OPNOTSUPP),
    }
}

/// A file or directory that is held open from the beginning, so that what happens to its name later has no effect, and
/// what commands may do with it.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) handle: OwnedFd,
    pub(super) allowed: BitFlags<AccessFs>,
}

impl Rule {
    /// The rule for a grant. Opened without following a link: a grant has a canonical path.
    pub(super) fn for_grant(grant: &Grant, rights: Rights) -> Result<Self> {
        let handle = rustix::fs::open(&grant.path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", grant.path.display())))?;
        Ok(Self { handle, allowed: rights.for_grant(grant.access, grant.directory) })
    }

    /// A file of the machine that commands need where they have no mounts of their own; `None` if it does not exist.
    pub(super) fn for_file(path: &str, allowed: BitFlags<AccessFs>) -> Option<Self> {
        let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { handle, allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_grants_no_way_to_change_anything() {
        let rights = Rights::new(7, Network::Off);
        let read = AccessFs::Execute | AccessFs::ReadFile;
        assert_eq!(rights.for_grant(Access::Read, true), read | AccessFs::ReadDir);
        assert_eq!(rights.for_grant(Access::Read, false), read);
    }

    #[test]
    fn writing_never_grants_the_making_of_devices() {
        for version in 1..8 {
            let writable = Rights::new(version, Network::On).writable();
            assert!(!writable.intersects(AccessFs::MakeChar | AccessFs::MakeBlock), "{version}");
        }
    }

    #[test]
    fn an_old_kernel_is_asked_only_for_what_it_knows() {
        let old = Rights::new(1, Network::Off);
        assert_eq!(AccessFs::from_all(old.abi).bits(), (1 << 13) - 1);
        let newest = Rights::new(99, Network::Off);
        assert_eq!((AccessFs::from_all(newest.abi).bits(), newest.abi), ((1 << 16) - 1, ABI::V6));
    }
}
