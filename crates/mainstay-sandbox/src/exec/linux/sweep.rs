//! ExitStatus a process tree where nothing holds it together: everything that descends from this process is stopped, so that
//! it cannot multiply, and then killed. Orphans come to this process, so when it has no children left there is nothing
//! left.

use std::os::fd::RawFd;

use super::processes;
use super::sys;

/// How many processes of the machine can be looked at, twice.
pub(super) const ROOM: usize = 65_536;

/// How often it is tried to end processes that cannot all be found, with a moment between.
const BLIND: u32 = 1000;

/// `directory` lists the processes of the machine, and `room` holds pairs of a process and its parent. The command's
/// group can be told as a whole while the command itself has not been forgotten.
pub(super) fn end_everything(directory: RawFd, mut group: Option<libc::pid_t>, room: &mut [libc::pid_t]) {
    let mut blind = 0;
    while blind < BLIND {
        if !kill_descendants(directory, room) {
            blind += 1;
            let _ = group.map(|group| sys::signal(-group, libc::SIGKILL));
        }
        loop {
            match sys::reap() {
                // Once it is forgotten its number may mean another group.
                Ok(Some((process, _))) => group = group.filter(|group| *group != process),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        sys::wait_readable(-1, -1, 1);
    }
}

/// Whether all could be looked for.
fn kill_descendants(directory: RawFd, room: &mut [libc::pid_t]) -> bool {
    // Nothing that has ended is forgotten here, so once a pass finds no more than the one before, all are stopped.
    let mut known = None;
    loop {
        let found = signal_descendants(directory, room, libc::SIGSTOP);
        if found.is_none() || found == known {
            break;
        }
        known = found;
    }
    signal_descendants(directory, room, libc::SIGKILL).is_some()
}

/// Sends a signal to every descendant that is found, and says how many there are if that is all of them.
fn signal_descendants(directory: RawFd, room: &mut [libc::pid_t], signal: i32) -> Option<usize> {
    let listed = processes::list(directory, room);
    let (pairs, _) = room.split_at_mut(listed.pairs * 2);
    let found = mark_descendants(processes::own_number(), pairs);
    for pair in pairs.chunks_exact(2).filter(|pair| pair[0] < 0) {
        let _ = sys::signal(-pair[0], signal);
    }
    listed.complete.then_some(found)
}

/// Makes the number of every descendant negative, and says how many there are. Whatever stands in the list, the first
/// process of the machine and those without a parent are nobody's descendants.
fn mark_descendants(ancestor: libc::pid_t, pairs: &mut [libc::pid_t]) -> usize {
    let mut marked = 0;
    // A pass that marks nobody new is the last.
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
    fn those_without_a_parent_are_nobodys_descendants() {
        let mut pairs = [0, 0, 1, 0, 2, 0, 3, 1, 7, 3];
        assert_eq!(mark_descendants(7, &mut pairs), 0);
        assert_eq!(pairs, [0, 0, 1, 0, 2, 0, 3, 1, 7, 3]);
    }
}
