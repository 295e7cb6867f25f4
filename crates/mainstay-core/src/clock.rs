//! Time, and unique ids.

use std::cell::RefCell;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Where time comes from. Nothing else in the project asks the system for it, so that tests control it.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock for tests: it stands still until it is advanced.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    pub fn at_ms(ms: i64) -> Self {
        Self(Mutex::new(Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)))
    }

    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = now.checked_add(by).unwrap_or(Timestamp::MAX);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

/// A moment as people and contracts write it: ISO 8601 in UTC, to the second.
pub fn iso8601(ms: i64) -> String {
    Timestamp::from_second(ms.div_euclid(1000)).unwrap_or(Timestamp::MAX).to_string()
}

/// Random bytes that the kernel gave this thread, from `next` on. Every call of a tool needs an id, and asking the kernel
/// for each would be a thirtieth of the time of a plain call.
struct RandomBytes {
    bytes: [u8; 1024],
    next: usize,
}

thread_local! {
    static RANDOM: RefCell<RandomBytes> = const { RefCell::new(RandomBytes { bytes: [0; 1024], next: 1024 }) };
}

impl RandomBytes {
    /// The next bytes, which are given once; `None` if the kernel has none.
    fn take(&mut self) -> Option<[u8; 16]> {
        if self.next >= self.bytes.len() {
            getrandom::fill(&mut self.bytes).ok()?;
            self.next = 0;
        }
        let taken = self.bytes.get(self.next..)?.first_chunk().copied()?;
        self.next += taken.len();
        Some(taken)
    }
}

/// A name nobody can guess (122 random bits) and nobody has used.
pub fn new_id() -> String {
    let random = RANDOM.with_borrow_mut(RandomBytes::take);
    let id = random.map_or_else(uuid::Uuid::new_v4, |bytes| uuid::Builder::from_random_bytes(bytes).into_uuid());
    id.simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_given_twice() {
        let ids = || (0..1000).map(|_| new_id()).collect::<Vec<_>>();
        let (here, there) = (ids(), std::thread::spawn(ids).join().unwrap());
        let all: std::collections::BTreeSet<&String> = here.iter().chain(&there).collect();
        assert_eq!(all.len(), 2000);
        assert!(all.iter().all(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())));
    }

    #[test]
    fn a_moment_is_told_to_the_second() {
        assert_eq!(iso8601(1_758_191_400_999), "2025-09-18T10:30:00Z");
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59Z");
    }
}
