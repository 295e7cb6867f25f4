//! A limit on failed authentication attempts. Verifying a secret is expensive on purpose, so a client may not cause it
//! without end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures allowed per source and window.
const ALLOWED: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// Sources counted at once. Past this, the one with the oldest window is dropped.
const CAPACITY: usize = 10_000;

/// A client, and the address prefix it authenticates from. All clients that do not exist count as one (`None`): inventing
/// names gives no new attempts, and does not use up those of an existing client behind the same proxy.
pub type FailureSource = (Option<String>, Option<IpAddr>);

/// Failures per source in this process.
#[derive(Default)]
pub struct FailureLimit(Mutex<HashMap<FailureSource, Failures>>);

struct Failures {
    since: Instant,
    count: u32,
}

impl Failures {
    fn none() -> Self {
        Self { since: Instant::now(), count: 0 }
    }

    fn is_over(&self) -> bool {
        self.since.elapsed() >= WINDOW
    }
}

impl FailureLimit {
    /// Counts an attempt as failed before it is made, so that concurrent attempts cannot exceed the limit together; one
    /// that succeeds is withdrawn. `Err` has the seconds to wait.
    pub(crate) fn attempt(&self, source: &FailureSource) -> Result<(), u64> {
        if let Some(seconds) = self.retry_after(source) {
            return Err(seconds);
        }
        self.add(source.clone());
        Ok(())
    }

    pub(crate) fn withdraw(&self, source: &FailureSource) {
        if let Some(failures) = self.sources().get_mut(source) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    /// Seconds until the next attempt is allowed, if the limit is reached.
    pub fn retry_after(&self, source: &FailureSource) -> Option<u64> {
        let sources = self.sources();
        let failures = sources.get(source).filter(|failures| !failures.is_over() && failures.count >= ALLOWED)?;
        Some(WINDOW.saturating_sub(failures.since.elapsed()).as_secs() + 1)
    }

    /// Counts a failure.
    pub fn add(&self, source: FailureSource) {
        let mut sources = self.sources();
        if sources.len() >= CAPACITY {
            sources.retain(|_, failures| !failures.is_over());
        }
        if sources.len() >= CAPACITY
            && let Some(oldest) = sources.iter().min_by_key(|(_, failures)| failures.since).map(|(key, _)| key.clone())
        {
            sources.remove(&oldest);
        }
        let failures = sources.entry(source).or_insert_with(Failures::none);
        if failures.is_over() {
            *failures = Failures::none();
        }
        failures.count += 1;
    }

    fn sources(&self) -> MutexGuard<'_, HashMap<FailureSource, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(client: &str, last: u8) -> FailureSource {
        (Some(client.to_owned()), Some(IpAddr::from([127, 0, 0, last])))
    }

    #[test]
    fn the_eleventh_failure_in_a_minute_is_rejected_for_its_source_alone() {
        let failures = FailureLimit::default();
        for _ in 0..ALLOWED {
            assert_eq!(failures.retry_after(&source("a", 1)), None);
            failures.add(source("a", 1));
        }
        assert!(failures.retry_after(&source("a", 1)).is_some_and(|seconds| (1..=60).contains(&seconds)));
        for other in [source("b", 1), source("a", 2), (None, source("a", 1).1)] {
            assert_eq!(failures.retry_after(&other), None);
        }
    }

    #[test]
    fn attempts_count_until_they_succeed() {
        let failures = FailureLimit::default();
        for _ in 0..100 {
            assert!(failures.attempt(&source("a", 1)).is_ok());
            failures.withdraw(&source("a", 1));
        }
        assert!((0..ALLOWED).all(|_| failures.attempt(&source("a", 1)).is_ok()));
        assert!(failures.attempt(&source("a", 1)).is_err());
        failures.withdraw(&source("a", 1));
        assert!(failures.attempt(&source("a", 1)).is_ok());
        failures.withdraw(&source("never seen", 1));
    }

    #[test]
    fn memory_is_bounded_however_many_sources_fail() {
        let failures = FailureLimit::default();
        for number in 0..=CAPACITY {
            failures.add(source(&number.to_string(), 1));
        }
        assert_eq!(failures.0.lock().unwrap().len(), CAPACITY);
    }
}
