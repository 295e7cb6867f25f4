//! A limit on failed authentication attempts. Verifying a secret is expensive on purpose, so a client may not cause it
//! without end.
//!
//! Failures are counted by client and by address prefix, so that neither another address of the same machine nor
//! another client's failures change how many attempts are left.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

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
        if let Some(failures) = self.0.lock().get_mut(source) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    /// Seconds until the next attempt is allowed, if the limit is reached.
    pub fn retry_after(&self, source: &FailureSource) -> Option<u64> {
        let sources = self.0.lock();
        let failures = sources.get(source).filter(|failures| !failures.is_over() && failures.count >= ALLOWED)?;
        Some(WINDOW.saturating_sub(failures.since.elapsed()).as_secs() + 1)
    }

    /// Counts a failure.
    pub fn add(&self, source: FailureSource) {
        let mut sources = self.0.lock();
        // An entry whose window is over counts nothing, so the source begins a new one.
        if sources.len() >= CAPACITY || sources.get(&source).is_some_and(Failures::is_over) {
            sources.retain(|_, failures| !failures.is_over());
        }
        if sources.len() >= CAPACITY
            && let Some(oldest) = sources.iter().min_by_key(|(_, failures)| failures.since).map(|(key, _)| key.clone())
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
        assert_eq!(failures.0.lock().len(), CAPACITY);
    }
}
