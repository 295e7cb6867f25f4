//! The memory that all plans of this process share for the content they hold.
//!
//! Without it, a few clients that change large files at the same time could exhaust the machine's memory: one plan may
//! hold 256 MiB, and the number of concurrent calls is not small.

use std::cell::Cell;
use std::time::{Duration, Instant};

use mainstay_core::{CancellationToken, Error, Kind, Result};
use tokio::sync::Semaphore;

pub(crate) static PLAN_MEMORY: MemoryBudget = MemoryBudget::new(512 * 1024 * 1024, Duration::from_secs(10));

/// How often a waiting plan looks for released memory and checks whether its call was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A number of bytes that plans reserve and release.
pub(crate) struct MemoryBudget {
    bytes: usize,
    /// How long a plan waits for others to release memory.
    max_wait: Duration,
    /// One permit for each byte.
    free: Semaphore,
}

impl MemoryBudget {
    pub(crate) const fn new(bytes: usize, max_wait: Duration) -> Self {
        Self { bytes, max_wait, free: Semaphore::const_new(bytes) }
    }

    fn acquire(&self, bytes: usize, cancel: &CancellationToken) -> Result<()> {
        let (permits, begun) = (u32::try_from(bytes).map_err(Error::internal)?, Instant::now());
        loop {
            // Tried again and not queued for: a small plan must not wait behind a large one.
            if let Ok(acquired) = self.free.try_acquire_many(permits) {
                acquired.forget();
                return Ok(());
            }
            crate::progress::check_cancelled(cancel)?;
            if begun.elapsed() >= self.max_wait {
                return Err(Error::unavailable(format!(
                    "Other calls use all of the {} MiB for file contents; retry in a moment. Nothing was changed.",
                    self.bytes >> 20
                )));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// One plan's part of the budget. It only grows, and is released when it is dropped.
pub(crate) struct MemoryReservation {
    budget: &'static MemoryBudget,
    bytes: Cell<usize>,
}

impl MemoryReservation {
    pub(crate) const fn of(budget: &'static MemoryBudget) -> Self {
        Self { budget, bytes: Cell::new(0) }
    }

    /// Grows the reservation to at least `bytes`, waiting for other plans if necessary.
    pub(crate) fn reserve(&self, bytes: usize, cancel: &CancellationToken) -> Result<()> {
        if bytes > self.budget.bytes {
            let limit = self.budget.bytes >> 20;
            let reason = format!("This change needs more than {limit} MiB of memory; change less at once.");
            return Err(Error::new(Kind::TooLarge, reason));
        }
        let more = bytes.saturating_sub(self.bytes.get());
        if more > 0 {
            self.budget.acquire(more, cancel)?;
            self.bytes.set(bytes);
        }
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.free.add_permits(self.bytes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_waits_for_released_memory() {
        static MEMORY: MemoryBudget = MemoryBudget::new(10, Duration::from_mins(10));
        let first = MemoryReservation::of(&MEMORY);
        first.reserve(8, &CancellationToken::new()).unwrap();
        let waiting = std::thread::spawn(|| MemoryReservation::of(&MEMORY).reserve(5, &CancellationToken::new()));
        std::thread::sleep(POLL_INTERVAL);
        assert!(!waiting.is_finished(), "there is no room for both");
        drop(first);
        waiting.join().unwrap().unwrap();
        assert_eq!(MEMORY.free.available_permits(), 10, "all of it is released");
    }

    #[test]
    fn a_plan_that_waited_too_long_is_rejected_and_reserves_nothing() {
        static MEMORY: MemoryBudget = MemoryBudget::new(10, Duration::ZERO);
        let cancel = CancellationToken::new();
        let (first, second) = (MemoryReservation::of(&MEMORY), MemoryReservation::of(&MEMORY));
        first.reserve(8, &cancel).unwrap();
        assert_eq!(second.reserve(5, &cancel).unwrap_err().kind, Kind::Unavailable);
        assert_eq!(second.reserve(11, &cancel).unwrap_err().kind, Kind::TooLarge);
        first.reserve(6, &cancel).unwrap();
        assert_eq!(MEMORY.free.available_permits(), 2, "a smaller reservation needs no more");
        drop(first);
        second.reserve(5, &cancel).unwrap();
    }

    #[test]
    fn a_cancelled_call_does_not_wait() {
        static MEMORY: MemoryBudget = MemoryBudget::new(10, Duration::from_mins(10));
        let (first, cancel) = (MemoryReservation::of(&MEMORY), CancellationToken::new());
        first.reserve(10, &cancel).unwrap();
        cancel.cancel();
        assert_eq!(MemoryReservation::of(&MEMORY).reserve(1, &cancel).unwrap_err().kind, Kind::Cancelled);
    }
}
