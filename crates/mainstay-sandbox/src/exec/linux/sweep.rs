//! Ending a process tree where there is no namespace that ends it: everything that descends from this process is
//! stopped, so that it cannot multiply, and then killed. Orphans come to this process, so when it has no children left
//! there is nothing left.

use super::processes;
use super::sys;

/// How many processes of the machine can be looked at.
pub(super) const ROOM: usize = 65_536;

/// `room` holds pairs of a process and its parent.
pub(super) fn end_everything(room: &mut [libc::pid_t]) {
    loop {
        // Nothing that has ended is forgotten here, so once a pass finds no more than the one before, all are stopped.
        let mut known = usize::MAX;
        loop {
            let found = signal_descendants(room, libc::SIGSTOP);
            if found == known {
                break;
            }
            known = found;
        }
        signal_descendants(room, libc::SIGKILL);
        loop {
            match sys::reap() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        sys::wait_readable(-1, -1, 1);
    }
}

/// Sends a signal to every descendant and says how many there are.
fn signal_descendants(room: &mut [libc::pid_t], signal: i32) -> usize {
    let own = processes::own_number();
    let found = processes::list(room);
    let (pairs, _) = room.split_at_mut(found * 2);
    let mut marked = 0;
    // A descendant's number is made negative; a pass that marks nobody new is the last.
    loop {
        let before = marked;
        for at in (0..pairs.len()).step_by(2) {
            let (process, parent) = (pairs[at], pairs[at + 1]);
            if process > 0 && (parent == own || pairs.chunks_exact(2).any(|pair| pair[0] == -parent)) {
                pairs[at] = -process;
                marked += 1;
                let _ = sys::signal(process, signal);
            }
        }
        if marked == before {
            return marked;
        }
    }
}
