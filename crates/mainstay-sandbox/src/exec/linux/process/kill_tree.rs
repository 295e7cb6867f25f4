//! Ends a process tree that nothing holds together.
//!
//! Everything that descends from this process is stopped first, so that it cannot fork any more, and then killed. The
//! supervisor is a subreaper: orphans become its children, so when it has no children left, nothing is left. The
//! processes of the machine and their parents are read from `/proc` without allocating.

use std::ffi::CStr;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use rustix::io::{Errno, Result};
use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::exec::linux::syscalls;

/// Twice the number of processes of the machine that can be looked at.
pub(crate) const TABLE_SIZE: usize = 65_536;

/// How often to try again if the processes could not all be listed.
const ATTEMPTS: u32 = 1000;

/// Between two attempts, so that killed processes can be reaped.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Ends all descendants of this process. `directory` is the list of processes, and `table` the space for it. While the
/// command has not been reaped, its group can be killed by number, as a fallback.
pub(super) fn kill_descendants(directory: BorrowedFd<'_>, mut group: Option<libc::pid_t>, table: &mut [libc::pid_t]) {
    let mut incomplete = 0;
    while incomplete < ATTEMPTS {
        if !stop_and_kill(directory, table) {
            incomplete += 1;
            let _ = group.map(|group| syscalls::kill(-group, libc::SIGKILL));
        }
        loop {
            match syscalls::wait(-1, libc::WNOHANG) {
                // Once it is reaped, its number may mean another group.
                Ok(Some((process, _))) => group = group.filter(|group| *group != process),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        let _ = nanosleep(&PAUSE);
    }
}

/// Returns whether all processes could be listed.
fn stop_and_kill(directory: BorrowedFd<'_>, table: &mut [libc::pid_t]) -> bool {
    // Nothing that has ended is reaped here, so once a pass finds no more than the one before, all are stopped.
    let mut known = None;
    loop {
        let found = signal_descendants(directory, table, libc::SIGSTOP);
        if found.is_none() || found == known {
            break;
        }
        known = found;
    }
    signal_descendants(directory, table, libc::SIGKILL).is_some()
}

/// Sends a signal to every descendant that is found; returns their number if those are all.
fn signal_descendants(directory: BorrowedFd<'_>, table: &mut [libc::pid_t], signal: i32) -> Option<usize> {
    let listed = list_processes(directory, table);
    let (pairs, _) = table.split_at_mut(listed.pairs * 2);
    let found = mark_descendants(rustix::process::getpid().as_raw_pid(), pairs);
    for pair in pairs.chunks_exact(2).filter(|pair| pair[0] < 0) {
        let _ = syscalls::kill(-pair[0], signal);
    }
    listed.complete.then_some(found)
}

/// Makes the number of every descendant negative; returns how many there are. The first process of the machine, and
/// those without a parent, are never descendants, whatever the list says.
fn mark_descendants(ancestor: libc::pid_t, pairs: &mut [libc::pid_t]) -> usize {
    let mut marked = 0;
    // A pass that marks nothing new is the last.
    loop {
        let before = marked;
        for at in (0..pairs.len()).step_by(2) {
            let (process, parent) = (pairs[at], pairs[at + 1]);
            let known = parent > 1 && pairs.chunks_exact(2).any(|pair| pair[0] == -parent);
            if process > 1 && process != ancestor && (parent == ancestor || known) {
                pairs[at] = -process;
                marked += 1;
            }
        }
        if marked == before {
            return marked;
        }
    }
}

/// Opens the list of processes.
pub(super) fn open_process_list() -> Result<OwnedFd> {
    rustix::fs::open(c"/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The result of reading the list once.
struct Listed {
    pairs: usize,
    /// Whether no process was left out.
    complete: bool,
}

/// Fills `table` with pairs of a process and its parent.
fn list_processes(directory: BorrowedFd<'_>, table: &mut [libc::pid_t]) -> Listed {
    let mut listed = Listed { pairs: 0, complete: true };
    if rustix::fs::seek(directory, SeekFrom::Start(0)).is_err() {
        return Listed { complete: false, ..listed };
    }
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut pairs = table.chunks_exact_mut(2);
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return Listed { complete: false, ..listed } };
        let Some(process) = number(entry.file_name().to_bytes()) else { continue };
        let parent = match parent_of(directory, process) {
            Ok(Some(parent)) => parent,
            Ok(None) => continue,
            Err(_) => {
                listed.complete = false;
                continue;
            }
        };
        // Only a process that still exists takes a pair, so there is no gap among those that are counted.
        match pairs.next() {
            Some(pair) => {
                pair.copy_from_slice(&[process, parent]);
                listed.pairs += 1;
            }
            None => listed.complete = false,
        }
    }
    listed
}

fn number(digits: &[u8]) -> Option<libc::pid_t> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `None` if the process is gone.
fn parent_of(directory: BorrowedFd<'_>, process: libc::pid_t) -> Result<Option<libc::pid_t>> {
    let mut path = [0u8; 32];
    write!(&mut path[..31], "{process}/stat").map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    let mut buffer = [0u8; 512];
    let read = rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut buffer));
    match read {
        Ok(filled) => Ok(buffer.get(..filled).and_then(parent_in)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The parent follows the state, which follows the name. A name may contain anything; it ends with the last
/// parenthesis.
fn parent_in(stat: &[u8]) -> Option<libc::pid_t> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 2..)?.split(|byte| *byte == b' ');
    number(fields.nth(1)?)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn descendants_are_found_in_whatever_order_they_are_listed() {
        let mut pairs = [1, 0, 2, 0, 9, 8, 7, 5, 8, 7, 5, 1, 6, 5, 3, 1];
        assert_eq!(mark_descendants(7, &mut pairs), 2);
        assert_eq!(pairs, [1, 0, 2, 0, -9, 8, 7, 5, -8, 7, 5, 1, 6, 5, 3, 1]);
    }

    #[test]
    fn processes_without_a_parent_are_never_descendants() {
        let mut pairs = [0, 0, 1, 0, 2, 0, 3, 1, 7, 3];
        assert_eq!(mark_descendants(7, &mut pairs), 0);
        assert_eq!(pairs, [0, 0, 1, 0, 2, 0, 3, 1, 7, 3]);
    }

    #[test]
    fn this_process_is_listed_with_its_parent() {
        let mut table = vec![0; 65_536];
        let directory = open_process_list().unwrap();
        let listed = list_processes(directory.as_fd(), &mut table);
        let again = list_processes(directory.as_fd(), &mut []);
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(listed.complete && table[..listed.pairs * 2].chunks_exact(2).any(|pair| pair == [own, parent]));
        assert!(again.pairs == 0 && !again.complete, "the table was too small, and that shows");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let no_directory = std::fs::File::open("/dev/null").unwrap();
        assert!(!list_processes(no_directory.as_fd(), &mut [0; 8]).complete);
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_in(b"7 (a) S 9) R 42 1 1"), Some(42));
        assert_eq!(number(b"12a"), None);
    }
}
