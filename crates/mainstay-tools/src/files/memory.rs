//! The memory that all plans of this process have together for the content they hold.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainstay_core::{CancellationToken, Error, Kind, Result};

use super::plan::alive;

pub(super) static MEMORY: Memory = Memory::new(512 * 1024 * 1024, Duration::from_secs(10));

/// How often a plan that waits looks whether its caller is still there.
const GLANCE: Duration = Duration::from_millis(50);

pub(super) struct Memory {
    bytes: usize,
    /// How long a plan waits for others to be done.
    patience: Duration,
    taken: Mutex<usize>,
    given_back: Condvar,
}

impl Memory {
    pub(super) const fn new(bytes: usize, patience: Duration) -> Self {
        Self { bytes, patience, taken: Mutex::new(0), given_back: Condvar::new() }
    }

    fn take(&self, bytes: usize, cancel: &CancellationToken) -> Result<()> {
        let begun = Instant::now();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while self.bytes - *taken < bytes {
            alive(cancel)?;
            let left = self.patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(self.none_left());
            }
            let woken = self.given_back.wait_timeout(taken, left.min(GLANCE));
            (taken, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.given_back.notify_all();
    }

    fn none_left(&self) -> Error {
        Error::unavailable(format!(
            "Other changes hold the {} MiB that there are for the content of files; try again in a moment. Nothing was \
             changed.",
            self.bytes >> 20
        ))
    }
}

/// What one plan has of the memory. It grows as the plan does, and is given back with it.
pub(super) struct Share {
    memory: &'static Memory,
    bytes: Cell<usize>,
}

impl Share {
    pub(super) const fn of(memory: &'static Memory) -> Self {
        Self { memory, bytes: Cell::new(0) }
    }

    /// Makes it at least so large. This waits, though not for long.
    pub(super) fn cover(&self, bytes: usize, cancel: &CancellationToken) -> Result<()> {
        if bytes > self.memory.bytes {
            let limit = self.memory.bytes >> 20;
            let reason = format!("This change takes more than {limit} MiB of memory; change less at once.");
            return Err(Error::new(Kind::TooLarge, reason));
        }
        let more = bytes.saturating_sub(self.bytes.get());
        if more > 0 {
            self.memory.take(more, cancel)?;
            self.bytes.set(bytes);
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_waits_for_what_is_given_back() {
        static MEMORY: Memory = Memory::new(10, Duration::from_mins(10));
        let first = Share::of(&MEMORY);
        first.cover(8, &CancellationToken::new()).unwrap();
        let waiting = std::thread::spawn(|| Share::of(&MEMORY).cover(5, &CancellationToken::new()));
        std::thread::sleep(GLANCE);
        assert!(!waiting.is_finished(), "there is no room for both");
        drop(first);
        waiting.join().unwrap().unwrap();
        assert_eq!(*MEMORY.taken.lock().unwrap(), 0, "all of it is given back");
    }

    #[test]
    fn what_does_not_fit_in_time_is_refused_and_takes_nothing() {
        static MEMORY: Memory = Memory::new(10, Duration::ZERO);
        let cancel = CancellationToken::new();
        let (first, second) = (Share::of(&MEMORY), Share::of(&MEMORY));
        first.cover(8, &cancel).unwrap();
        assert_eq!(second.cover(5, &cancel).unwrap_err().kind, Kind::Unavailable);
        assert_eq!(second.cover(11, &cancel).unwrap_err().kind, Kind::TooLarge);
        first.cover(6, &cancel).unwrap();
        assert_eq!(*MEMORY.taken.lock().unwrap(), 8, "what is covered needs no more");
        drop(first);
        second.cover(5, &cancel).unwrap();
    }

    #[test]
    fn a_caller_who_goes_away_does_not_wait() {
        static MEMORY: Memory = Memory::new(10, Duration::from_mins(10));
        let (first, cancel) = (Share::of(&MEMORY), CancellationToken::new());
        first.cover(10, &cancel).unwrap();
        cancel.cancel();
        assert_eq!(Share::of(&MEMORY).cover(1, &cancel).unwrap_err().kind, Kind::Cancelled);
    }
}
