//! Time, and unique ids.

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

/// A name nobody can guess (122 random bits) and nobody has used.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_to_the_second() {
        assert_eq!(iso8601(1_758_191_400_999), "2025-09-18T10:30:00Z");
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59Z");
    }
}
