//! Ends a process tree that nothing holds together.
//!
//! Everything that descends from this process is stopped first, so that it cannot fork any more, and then killed. The
//! supervisor is a subreaper: orphans become its children, so when it has no children left, nothing is left.

use std::os::fd::BorrowedFd;

use rustix::thread::nanosleep;
use rustix::time::Timespec;

use super::process_list;
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
    let listed = process_list::list(directory, table);
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

#[cfg(test)]
mod tests {
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
}
