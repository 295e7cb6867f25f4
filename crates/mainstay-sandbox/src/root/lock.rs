//! Whoever changes names in a directory holds its lock: other threads wait, and so do other servers of the same data
//! directory. The locks lie there and not in the workspace, where any command could hold them.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainstay_core::{Error, Result};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::Identity;
use super::fault::About as _;

/// How long another server may hold a directory.
const PATIENCE: Duration = Duration::from_secs(20);

/// Directories that somebody in this process holds.
static HELD: Mutex<Vec<Identity>> = Mutex::new(Vec::new());
static LET_GO: Condvar = Condvar::new();

/// Locks on some directories, until it is dropped.
pub(super) struct Locked {
    held: Vec<Identity>,
    /// Closing them lets go.
    files: Vec<File>,
}

impl Locked {
    /// Takes all of them or none, always in the same order, so that two changes never wait for each other.
    pub(super) fn take<'a>(
        directories: impl Iterator<Item = &'a OwnedFd>,
        locks: Option<&Path>,
        shown: &str,
    ) -> Result<Self> {
        let mut wanted = Vec::new();
        for directory in directories {
            wanted.push(Identity::of(directory.as_fd()).about(shown)?);
        }
        wanted.sort_unstable();
        wanted.dedup();
        hold(&wanted, shown)?;
        let mut locked = Self { held: wanted, files: Vec::new() };
        if let Some(locks) = locks {
            let mut drawers: Vec<u64> = locked.held.iter().map(drawer).collect();
            drawers.sort_unstable();
            drawers.dedup();
            for drawer in drawers {
                locked.files.push(lock_file(&locks.join(format!("{drawer:02x}.lock")), shown)?);
            }
        }
        Ok(locked)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.files.clear();
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|identity| !self.held.contains(identity));
        drop(held);
        LET_GO.notify_all();
    }
}

fn hold(wanted: &[Identity], shown: &str) -> Result<()> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let busy = |held: &mut Vec<Identity>| wanted.iter().any(|identity| held.contains(identity));
    let (mut held, waited) = LET_GO.wait_timeout_while(held, PATIENCE, busy).unwrap_or_else(PoisonError::into_inner);
    if waited.timed_out() {
        return Err(in_use(shown));
    }
    held.extend(wanted);
    Ok(())
}

/// Directories share a few locks, so that there need not be one for each that ever was.
fn drawer(identity: &Identity) -> u64 {
    (identity.device.rotate_left(32) ^ identity.inode).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

/// The lock other processes see.
fn lock_file(path: &Path, shown: &str) -> Result<File> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(|error| {
        Error::unavailable("The locks in the data directory cannot be used; nothing was changed.").with_detail(error)
    })?;
    let begun = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() > PATIENCE => return Err(in_use(shown)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            // A file system that knows no locks leaves us with our own.
            Ok(()) | Err(_) => return Ok(file),
        }
    }
}

fn in_use(shown: &str) -> Error {
    Error::unavailable(format!(
        "Another change near {shown} has been under way for {} s; try again later.",
        PATIENCE.as_secs()
    ))
}
