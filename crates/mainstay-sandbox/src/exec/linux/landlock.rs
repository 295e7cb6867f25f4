//! Which files a command may open, as Landlock's rights.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use mainstay_core::{Error, Result};

use super::processes;
use super::sys::{self, Outcome};
use crate::exec::reach::{Access, Grant};
use crate::exec::settings::Network;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;
/// Everything of the first version: reading, writing, making and removing every kind of file.
const FIRST: u64 = (1 << 13) - 1;
/// Making devices; nobody is given it.
const MAKE_DEVICES: u64 = 1 << 6 | 1 << 11;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// The rights that make sense for something that is no directory.
const OF_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;

/// The rights this kernel knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    files: u64,
    network: u64,
    scopes: u64,
    size: usize,
}

impl Rights {
    pub(super) fn of(version: i64, network: Network) -> Self {
        let mut files = FIRST;
        files |= if version >= 2 { REFER } else { 0 };
        files |= if version >= 3 { TRUNCATE } else { 0 };
        files |= if version >= 5 { IOCTL_DEVICE } else { 0 };
        let tcp = version >= 4 && network == Network::Off;
        Self {
            files,
            network: if tcp { 3 } else { 0 },
            // Abstract sockets and signals.
            scopes: if version >= 6 { 3 } else { 0 },
            size: match version {
                ..4 => 8,
                4..6 => 16,
                _ => 24,
            },
        }
    }

    fn allowed(self, access: Access, directory: bool) -> u64 {
        let wanted = match access {
            Access::Read => READ,
            Access::Write => self.files & !(MAKE_DEVICES | IOCTL_DEVICE),
        };
        self.files & wanted & if directory { u64::MAX } else { OF_A_FILE }
    }

    pub(super) fn device(self) -> u64 {
        self.files & (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE)
    }

    pub(super) fn devices(self) -> u64 {
        self.device() | READ_DIR
    }

    pub(super) fn writable(self) -> u64 {
        self.allowed(Access::Write, true)
    }

    pub(super) fn readable(self) -> u64 {
        self.files & READ
    }

    pub(super) fn readable_file(self) -> u64 {
        self.files & READ_FILE
    }

    pub(super) fn create(self) -> Outcome<RawFd> {
        sys::create_ruleset(&[self.files, self.network, self.scopes], self.size)
    }
}

/// From now on the signals of this process reach only itself and what it starts. A signal to everybody will be sent
/// because of it, so it is tried out on the one who started this process.
pub(super) fn keep_signals_in() -> Outcome {
    const SIGNALS: u64 = 1 << 1;
    const NO_SIGNAL: libc::c_int = 0;
    let ruleset = sys::create_ruleset(&[0, 0, SIGNALS], 24)?;
    let enforced = sys::enforce_ruleset(ruleset);
    sys::close(ruleset);
    enforced?;
    match sys::signal(processes::parent_number(), NO_SIGNAL) {
        Err(libc::EPERM) => Ok(()),
        Ok(()) | Err(_) => Err(libc::EOPNOTSUPP),
    }
}

/// What a rule is about, held open from the beginning: what happens to the name later does not matter.
#[derive(Debug)]
pub(super) struct Rule {
    handle: OwnedFd,
    allowed: u64,
}

impl Rule {
    pub(super) fn for_grant(grant: &Grant, rights: Rights) -> Result<Self> {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NOFOLLOW;
        let handle = rustix::fs::open(&grant.path, flags, rustix::fs::Mode::empty())
            .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", grant.path.display())))?;
        Ok(Self { handle, allowed: rights.allowed(grant.access, grant.directory) })
    }

    /// A file that commands need where they see the machine's own.
    pub(super) fn for_file(path: &str, allowed: u64) -> Option<Self> {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?;
        Some(Self { handle, allowed })
    }

    pub(super) fn as_raw(&self) -> (RawFd, u64) {
        (self.handle.as_raw_fd(), self.allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_grants_no_way_to_change_anything() {
        let rights = Rights::of(7, Network::Off);
        assert_eq!(rights.allowed(Access::Read, true), READ);
        assert_eq!(rights.allowed(Access::Read, false), EXECUTE | READ_FILE);
    }

    #[test]
    fn writing_never_grants_the_making_of_devices() {
        for version in 1..8 {
            assert_eq!(Rights::of(version, Network::On).writable() & MAKE_DEVICES, 0);
        }
    }

    #[test]
    fn an_old_kernel_is_asked_only_for_what_it_knows() {
        let old = Rights::of(1, Network::Off);
        assert_eq!((old.files, old.network, old.scopes, old.size), (FIRST, 0, 0, 8));
    }
}
