//! Whoever changes names in a directory holds its lock: other threads wait, and so do other servers on this machine.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainstay_core::{Error, Result};
use rustix::fs::{FlockOperation, Mode, OFlags};
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
    files: Vec<OwnedFd>,
}

impl Locked {
    /// Takes all of them or none, always in the same order, so that two changes never wait for each other.
    pub(super) fn take<'a>(directories: impl Iterator<Item = &'a OwnedFd>, shown: &str) -> Result<Self> {
        let mut wanted = Vec::new();
        for directory in directories {
            wanted.push((Identity::of(directory.as_fd()).about(shown)?, directory));
        }
        wanted.sort_by_key(|(identity, _)| *identity);
        wanted.dedup_by_key(|(identity, _)| *identity);
        let ids: Vec<Identity> = wanted.iter().map(|(identity, _)| *identity).collect();
        hold(&ids, shown)?;
        let mut locked = Self { held: ids, files: Vec::new() };
        for (_, directory) in wanted {
            if let Some(file) = lock_file(directory, shown)? {
                locked.files.push(file);
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

/// The lock other processes see. File systems that know none leave us with our own.
fn lock_file(directory: &OwnedFd, shown: &str) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, ".", flags, Mode::empty()).about(shown)?;
    let begun = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if begun.elapsed() > PATIENCE => return Err(in_use(shown)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            Err(_) => return Ok(None),
        }
    }
}

fn in_use(shown: &str) -> Error {
    Error::unavailable(format!(
        "Another change near {shown} has been under way for {} s; try again later.",
        PATIENCE.as_secs()
    ))
}
