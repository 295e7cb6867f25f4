//! A circuit breaker: after a failure the service is left alone for a while.
//!
//! A service that hangs would otherwise hold every search for the whole deadline. One failure is enough, since a search
//! without the service can fail at once as well as after ten seconds; a request that failed by chance costs a few seconds.

use std::time::Duration;

use mainstay_search::embedding::EmbedError;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a service is left alone after a failure. Long enough that a hanging one holds one search in three, short
/// enough that one that is restarted is soon in use.
const OPEN_FOR: Duration = Duration::from_secs(5);
/// The longest time that a service may ask for: an hour in a header must not turn search off for an hour.
const LONGEST: Duration = Duration::from_mins(1);

enum State {
    Closed,
    Open {
        until: Instant,
        reason: String,
    },
    /// One request is under way; its outcome decides. The others are answered with the failure before it.
    Probing {
        reason: String,
    },
}

pub(super) struct Breaker {
    state: Mutex<State>,
}

/// A request that was let through. Its outcome has to be told; one that is dropped without, because its caller gave up,
/// lets the next request through in its place.
pub(super) struct Admission<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

impl Breaker {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::Closed) }
    }

    /// The error of requests that are not let through at this time. Nothing changes, so that it can be asked before
    /// waiting for anything.
    pub(super) fn check(&self, now: Instant) -> Result<(), EmbedError> {
        match &*self.state.lock() {
            State::Closed => Ok(()),
            State::Open { until, .. } if *until <= now => Ok(()),
            State::Open { until, reason } => Err(rejected(reason, Some(*until - now))),
            State::Probing { reason } => Err(rejected(reason, None)),
        }
    }

    /// Lets a request through, or says why not.
    pub(super) fn admit(&self, now: Instant) -> Result<Admission<'_>, EmbedError> {
        self.check(now)?;
        let mut state = self.state.lock();
        let reason = match &mut *state {
            State::Closed => return Ok(Admission { breaker: self, is_probe: false }),
            State::Open { reason, .. } => std::mem::take(reason),
            // Another thread was faster between the check and here.
            State::Probing { reason } => return Err(rejected(reason, None)),
        };
        *state = State::Probing { reason };
        Ok(Admission { breaker: self, is_probe: true })
    }
}

fn rejected(reason: &str, retry_after: Option<Duration>) -> EmbedError {
    EmbedError::Unavailable { reason: format!("{reason}; it is tried again in a few seconds"), retry_after }
}

impl Admission<'_> {
    /// Any answer closes the circuit, also one that cannot be used.
    pub(super) fn answered(mut self) {
        self.is_probe = false;
        *self.breaker.state.lock() = State::Closed;
    }

    /// Opens the circuit for as long as the service asks for, within limits.
    pub(super) fn failed(mut self, now: Instant, reason: &str, asked: Option<Duration>) {
        self.is_probe = false;
        let wait = asked.unwrap_or_default().clamp(OPEN_FOR, LONGEST);
        *self.breaker.state.lock() = State::Open { until: now + wait, reason: reason.to_owned() };
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if !self.is_probe {
            return;
        }
        let mut state = self.breaker.state.lock();
        if let State::Probing { reason } = &mut *state {
            let reason = std::mem::take(reason);
            *state = State::Open { until: Instant::now(), reason };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_one_request_at_a_time_tries_again() {
        let (breaker, start) = (Breaker::new(), Instant::now());
        breaker.admit(start).unwrap().failed(start, "timed out", None);
        let error = breaker.admit(start + Duration::from_secs(1)).err().unwrap();
        let EmbedError::Unavailable { reason, retry_after } = error else { panic!("{error}") };
        assert!(reason.starts_with("timed out"));
        assert_eq!(retry_after, Some(Duration::from_secs(4)));
        let later = start + OPEN_FOR;
        let probe = breaker.admit(later).unwrap();
        assert!(breaker.admit(later).is_err() && breaker.check(later).is_err(), "while it is tried");
        probe.answered();
        assert!(breaker.admit(later).is_ok() && breaker.admit(later).is_ok());
    }

    #[test]
    fn an_abandoned_try_lets_the_next_one_through() {
        let (breaker, start) = (Breaker::new(), Instant::now());
        breaker.admit(start).unwrap().failed(start, "timed out", None);
        let later = start + OPEN_FOR;
        drop(breaker.admit(later).unwrap());
        assert!(breaker.admit(later).is_ok());
    }

    #[test]
    fn a_service_may_ask_for_longer_but_not_for_ever() {
        for (asked, expected) in [(1, OPEN_FOR), (20, Duration::from_secs(20)), (86_400, LONGEST)] {
            let (breaker, start) = (Breaker::new(), Instant::now());
            breaker.admit(start).unwrap().failed(start, "busy", Some(Duration::from_secs(asked)));
            assert!(breaker.check(start + expected - Duration::from_millis(1)).is_err());
            assert!(breaker.check(start + expected).is_ok());
        }
    }
}
