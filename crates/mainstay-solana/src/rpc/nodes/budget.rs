//! The request budget of a URL: a token bucket that holds the tokens of one second.

use std::time::Duration;

use tokio::time::Instant;

/// The bucket, kept as the moment at which it will be full again.
#[derive(Debug)]
pub(super) struct Budget {
    /// How long one token takes to come back.
    interval: Duration,
    /// How long all but one token take.
    burst: Duration,
    full_at: Instant,
}

impl Budget {
    pub(super) fn new(requests_per_second: u32, now: Instant) -> Self {
        let interval = Duration::from_secs(1) / requests_per_second.max(1);
        Self { interval, burst: interval * requests_per_second.saturating_sub(1), full_at: now }
    }

    /// How long a request has to wait.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.full_at.saturating_duration_since(now).saturating_sub(self.burst)
    }

    /// Takes a token, also one that comes back only later; says how long to wait for it.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let wait = self.wait(now);
        self.full_at = self.full_at.max(now) + self.interval;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_one_second_passes_and_the_rest_waits_in_order() {
        let now = Instant::now();
        let mut budget = Budget::new(4, now);
        let waits: Vec<u128> = (0..7).map(|_| budget.take(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750]);
        assert_eq!(budget.wait(now + Duration::from_secs(1)), Duration::ZERO);
    }

    #[test]
    fn unused_tokens_do_not_pile_up() {
        let now = Instant::now();
        let mut budget = Budget::new(2, now);
        let later = now + Duration::from_hours(1);
        let waits: Vec<u128> = (0..3).map(|_| budget.take(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 500]);
    }
}
