//! A sliding window: never more calls than the limit in any span of time. A token bucket of the same rate would admit
//! nearly twice as many in the first span, because it refills while it is used.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counts calls by client. Memory is one timestamp per admitted call of the last span.
pub(super) struct Window<K> {
    most: usize,
    span: Duration,
    /// When each client called within the span, oldest first.
    recent: Mutex<HashMap<K, VecDeque<Instant>>>,
}

impl<K: Hash + Eq + Clone> Window<K> {
    pub(super) fn new(most: u32, span: Duration) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX).max(1), span, recent: Mutex::default() }
    }

    /// Counts a call, or returns the time until the next one is admitted. Rejected calls are not counted.
    pub(super) fn admit(&self, client: &K, now: Instant) -> Result<(), Duration> {
        let mut recent = self.recent.lock();
        let calls = recent.entry(client.clone()).or_default();
        forget(calls, now, self.span);
        match calls.front() {
            Some(oldest) if calls.len() >= self.most => Err(self.span.saturating_sub(now.duration_since(*oldest))),
            Some(_) | None => {
                calls.push_back(now);
                Ok(())
            }
        }
    }

    /// Forgets clients that have not called within the span.
    pub(super) fn sweep(&self, now: Instant) {
        self.recent.lock().retain(|_, calls| {
            forget(calls, now, self.span);
            !calls.is_empty()
        });
    }
}

fn forget(calls: &mut VecDeque<Instant>, now: Instant, span: Duration) {
    while calls.front().is_some_and(|call| now.duration_since(*call) >= span) {
        calls.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_span_of_time_has_more_calls_than_the_limit() {
        let (window, start) = (Window::new(100, Duration::from_mins(1)), Instant::now());
        let admitted: Vec<u64> = (0..300_000)
            .step_by(100)
            .filter(|ms| window.admit(&(), start + Duration::from_millis(*ms)).is_ok())
            .collect();
        assert_eq!(admitted.len(), 500, "in five minutes");
        for (at, first) in admitted.iter().enumerate() {
            assert!(admitted[at..].iter().take_while(|ms| **ms < first + 60_000).count() <= 100);
        }
    }

    #[test]
    fn a_rejected_client_is_told_when_to_retry_and_is_admitted_then() {
        let (window, start) = (Window::new(2, Duration::from_mins(1)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(window.admit(&"a", at(0)).is_ok() && window.admit(&"a", at(10)).is_ok());
        assert_eq!(window.admit(&"a", at(20)), Err(Duration::from_secs(40)));
        assert!(window.admit(&"b", at(20)).is_ok(), "somebody else");
        assert!(window.admit(&"a", at(60)).is_ok());
        assert_eq!(window.admit(&"a", at(61)), Err(Duration::from_secs(9)));
    }

    #[test]
    fn clients_without_recent_calls_are_forgotten() {
        let (window, start) = (Window::new(2, Duration::from_mins(1)), Instant::now());
        assert!(window.admit(&1, start).is_ok());
        window.sweep(start + Duration::from_secs(59));
        assert_eq!(window.recent.lock().len(), 1);
        window.sweep(start + Duration::from_mins(1));
        assert!(window.recent.lock().is_empty());
    }
}
