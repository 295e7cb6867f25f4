//! Locks on directories whose names are being changed.
//!
//! Other threads wait, and so do other servers with the same data directory. The lock files are in the data directory
//! and not in the workspace, where any command could hold them.

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainstay_core::{Error, Result};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::identity::FileId;
use crate::workspace::errors::{self, PathContext as _};

/// How long to wait for a lock before the change is rejected.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How often a change that waits checks whether it is still wanted.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Directories that are locked by a thread of this process.
static LOCKED: Mutex<Vec<FileId>> = Mutex::new(Vec::new());
static RELEASED: Condvar = Condvar::new();

/// Locks on some directories, until it is dropped.
pub(super) struct DirLocks {
    directories: Vec<FileId>,
    /// Closing a file releases its lock.
    files: Vec<File>,
}

impl DirLocks {
    /// Takes all locks or none, always in the same order, so that two changes cannot deadlock. Waits as long as the
    /// change is `wanted`.
    pub(super) fn take<'a>(
        directories: impl Iterator<Item = &'a OwnedFd>,
        lock_dir: Option<&Path>,
        wanted: &dyn Fn() -> bool,
        display: &str,
    ) -> Result<Self> {
        let mut identities = directories.map(FileId::of).collect::<rustix::io::Result<Vec<_>>>().for_path(display)?;
        identities.sort_unstable();
        identities.dedup();
        lock_in_process(&identities, wanted, display)?;
        let mut locks = Self { directories: identities, files: Vec::new() };
        if let Some(lock_dir) = lock_dir {
            let mut buckets: Vec<u64> = locks.directories.iter().map(bucket).collect();
            buckets.sort_unstable();
            buckets.dedup();
            for bucket in buckets {
                locks.files.push(lock_file(&lock_dir.join(format!("{bucket:02x}.lock")), wanted, display)?);
            }
        }
        Ok(locks)
    }
}

impl Drop for DirLocks {
    fn drop(&mut self) {
        self.files.clear();
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        locked.retain(|identity| !self.directories.contains(identity));
        drop(locked);
        RELEASED.notify_all();
    }
}

/// Waits until no other thread has locked any of the directories, then locks all of them.
fn lock_in_process(identities: &[FileId], wanted: &dyn Fn() -> bool, display: &str) -> Result<()> {
    let begun = Instant::now();
    let busy = |locked: &mut Vec<FileId>| identities.iter().any(|identity| locked.contains(identity));
    let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = RELEASED.wait_timeout_while(locked, CHECK_INTERVAL, busy);
        let (after, wait) = waited.unwrap_or_else(PoisonError::into_inner);
        locked = after;
        if !wait.timed_out() {
            locked.extend(identities);
            return Ok(());
        }
        errors::check_wanted(wanted)?;
        if begun.elapsed() > TIMEOUT {
            return Err(busy_error(display));
        }
    }
}

/// Directories share 256 lock files, so that their number does not grow with that of the directories.
fn bucket(identity: &FileId) -> u64 {
    (identity.device.rotate_left(32) ^ identity.inode).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

/// Takes the lock that other processes see.
fn lock_file(path: &Path, wanted: &dyn Fn() -> bool, display: &str) -> Result<File> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(|error| {
        Error::unavailable("The lock files in the data directory cannot be used; nothing was changed.")
            .with_detail(error)
    })?;
    let begun = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() > TIMEOUT => return Err(busy_error(display)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                errors::check_wanted(wanted)?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            // A file system without locks leaves the one of this process.
            Ok(()) | Err(_) => return Ok(file),
        }
    }
}

fn busy_error(display: &str) -> Error {
    Error::unavailable(format!(
        "Another change near {display} has been in progress for {} s; try again later.",
        TIMEOUT.as_secs()
    ))
}
