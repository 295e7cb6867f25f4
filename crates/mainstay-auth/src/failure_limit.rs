//! A limit on failed authentication attempts. Verifying a secret is expensive on purpose, so a client may not cause it
//! without end.
//!
//! Failures are counted by the name a client claims and by the address prefix it comes from, so that neither another
//! address of the same machine nor the failures under another name change how many attempts are left. Names are not
//! looked up first: a client that exists and one that does not are treated alike, or the limit would tell which exist.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures allowed per source and window.
const ALLOWED: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// Sources counted at once. Past this, the one with the oldest window is dropped.
const CAPACITY: usize = 10_000;

/// Names from one address prefix share this many counters. Inventing names gives at most 640 attempts in a minute, about
/// ten seconds of hashing, and a client behind the same proxy seldom shares its counter with an invented name.
const COUNTERS: u64 = 64;

/// Where failures are counted together: one of the counters of an address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FailureSource {
    counter: u64,
    prefix: Option<IpAddr>,
}

/// Failures per source in this process.
#[derive(Default)]
pub struct FailureLimit {
    failures: Mutex<HashMap<FailureSource, Failures>>,
    /// Random for each process: which names share a counter cannot be predicted.
    counters: RandomState,
}

struct Failures {
    since: Instant,
    count: u32,
}

impl Failures {
    fn is_over(&self) -> bool {
        self.since.elapsed() >= WINDOW
    }
}

impl FailureLimit {
    /// Where the failures of a client that claims this name are counted.
    pub fn source(&self, name: &str, ip: Option<IpAddr>) -> FailureSource {
        FailureSource { counter: self.counters.hash_one(name) % COUNTERS, prefix: ip.map(ip_prefix) }
    }

    /// Counts an attempt as failed before it is made, so that concurrent attempts cannot exceed the limit together; one
    /// that succeeds is withdrawn. `Err` has the seconds to wait.
    pub(crate) fn attempt(&self, source: &FailureSource) -> Result<(), u64> {
        if let Some(seconds) = self.retry_after(source) {
            return Err(seconds);
        }
        self.add(*source);
        Ok(())
    }

    pub(crate) fn withdraw(&self, source: &FailureSource) {
        if let Some(failures) = self.failures.lock().get_mut(source) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    /// Seconds until the next attempt is allowed, if the limit is reached.
    pub fn retry_after(&self, source: &FailureSource) -> Option<u64> {
        let sources = self.failures.lock();
        let failures = sources.get(source).filter(|failures| !failures.is_over() && failures.count >= ALLOWED)?;
        Some(WINDOW.saturating_sub(failures.since.elapsed()).as_secs() + 1)
    }

    /// Counts a failure.
    pub fn add(&self, source: FailureSource) {
        let mut sources = self.failures.lock();
        // An entry whose window is over counts nothing, so the source begins a new one.
        if sources.len() >= CAPACITY || sources.get(&source).is_some_and(Failures::is_over) {
            sources.retain(|_, failures| !failures.is_over());
        }
        if sources.len() >= CAPACITY
            && let Some(oldest) = sources.iter().min_by_key(|(_, failures)| failures.since).map(|(source, _)| *source)
        {
            sources.remove(&oldest);
        }
        sources.entry(source).or_insert_with(|| Failures { since: Instant::now(), count: 0 }).count += 1;
    }
}

/// Addresses that one client can use at will have the same prefix: every loopback address counts as `127.0.0.1`, an
/// IPv4-mapped address as the IPv4 address, and an IPv6 address as its /64 network.
pub fn ip_prefix(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        IpAddr::V4(v4) if !v4.is_loopback() => IpAddr::V4(v4),
        IpAddr::V4(_) | IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_machine_or_one_ipv6_network_have_one_prefix() {
        for (ip, prefix) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.9.8.7", "127.0.0.1"),
            ("::1", "127.0.0.1"),
            ("::ffff:127.0.0.2", "127.0.0.1"),
            ("10.0.0.9", "10.0.0.9"),
            ("::ffff:10.0.0.9", "10.0.0.9"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ] {
            assert_eq!(ip_prefix(ip.parse().unwrap()).to_string(), prefix, "{ip}");
        }
    }

    /// A source per number: tests that need different ones must not depend on the hash of a name.
    fn source(counter: u64, last: u8) -> FailureSource {
        FailureSource { counter, prefix: Some(IpAddr::from([127, 0, 0, last])) }
    }

    #[test]
    fn the_eleventh_failure_in_a_minute_is_rejected_for_its_source_alone() {
        let failures = FailureLimit::default();
        for _ in 0..ALLOWED {
            assert_eq!(failures.retry_after(&source(1, 1)), None);
            failures.add(source(1, 1));
        }
        assert!(failures.retry_after(&source(1, 1)).is_some_and(|seconds| (1..=60).contains(&seconds)));
        for other in [source(2, 1), source(1, 2), FailureSource { counter: 1, prefix: None }] {
            assert_eq!(failures.retry_after(&other), None);
        }
    }

    #[test]
    fn attempts_count_until_they_succeed() {
        let failures = FailureLimit::default();
        for _ in 0..100 {
            assert!(failures.attempt(&source(1, 1)).is_ok());
            failures.withdraw(&source(1, 1));
        }
        assert!((0..ALLOWED).all(|_| failures.attempt(&source(1, 1)).is_ok()));
        assert!(failures.attempt(&source(1, 1)).is_err());
        failures.withdraw(&source(1, 1));
        assert!(failures.attempt(&source(1, 1)).is_ok());
        failures.withdraw(&source(2, 1));
    }

    #[test]
    fn memory_is_bounded_however_many_sources_fail() {
        let failures = FailureLimit::default();
        for number in 0..=CAPACITY {
            failures.add(source(number as u64, 1));
        }
        assert_eq!(failures.failures.lock().len(), CAPACITY);
    }

    #[test]
    fn inventing_names_gives_a_bounded_number_of_attempts() {
        let (failures, here) = (FailureLimit::default(), Some(IpAddr::from([10, 0, 0, 1])));
        let tried = (0..100_000).filter(|name| failures.attempt(&failures.source(&name.to_string(), here)).is_ok());
        assert_eq!(tried.count() as u64, COUNTERS * u64::from(ALLOWED));
    }
}
