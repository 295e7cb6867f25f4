//! A circuit breaker: a node that failed several times in a row is left alone for a while, so that calls do not wait for it.

use tokio::time::Instant;

use crate::rpc::settings::BreakerSettings;

/// Whether requests go to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// They do.
    Closed,
    /// They do not: the node failed too often.
    Open,
    /// A single one does, to see whether the node is back.
    HalfOpen,
}

#[derive(Debug)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One request is under way; its outcome decides.
    Probing,
}

#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
}

impl Breaker {
    pub(super) fn new() -> Self {
        Self { state: State::Closed { failures: 0 } }
    }

    /// Whether [`Self::admit`] would let a request through.
    pub(super) fn is_admissible(&self, now: Instant) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } => until <= now,
            State::Probing => false,
        }
    }

    /// Lets a request through, and says whether it is the one by which the node is tested.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Admission> {
        match self.state {
            State::Closed { .. } => Some(Admission { is_probe: false }),
            State::Open { until } if until <= now => {
                self.state = State::Probing;
                Some(Admission { is_probe: true })
            }
            State::Open { .. } | State::Probing => None,
        }
    }

    /// Any answer closes the circuit, also one to a request from before it opened.
    pub(super) fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// Counts a failure; enough of them in a row, or that of the probe alone, open the circuit.
    pub(super) fn failed(&mut self, now: Instant, settings: &BreakerSettings) {
        let failures = match self.state {
            State::Closed { failures } => failures.saturating_add(1),
            // A request from before the circuit opened says nothing new.
            State::Open { .. } => return,
            State::Probing => settings.failures,
        };
        self.state = if failures >= settings.failures {
            State::Open { until: now + settings.open_for }
        } else {
            State::Closed { failures }
        };
    }

    /// The request was given up without an outcome. If it was the probe, the next request is one.
    pub(super) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if admission.is_probe && matches!(self.state, State::Probing) {
            self.state = State::Open { until: now };
        }
    }

    pub(super) fn state(&self, now: Instant) -> CircuitState {
        match self.state {
            State::Closed { .. } => CircuitState::Closed,
            State::Open { until } if until > now => CircuitState::Open,
            State::Open { .. } | State::Probing => CircuitState::HalfOpen,
        }
    }
}

/// The permission for one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    is_probe: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SETTINGS: BreakerSettings = BreakerSettings { failures: 3, open_for: Duration::from_secs(10) };

    fn open(now: Instant) -> Breaker {
        let mut breaker = Breaker::new();
        (0..3).for_each(|_| breaker.failed(now, &SETTINGS));
        breaker
    }

    #[test]
    fn it_opens_after_consecutive_failures_only() {
        let now = Instant::now();
        let mut breaker = Breaker::new();
        for _ in 0..5 {
            breaker.failed(now, &SETTINGS);
            breaker.failed(now, &SETTINGS);
            breaker.succeeded();
        }
        assert_eq!(breaker.state(now), CircuitState::Closed);
        assert_eq!(open(now).state(now), CircuitState::Open);
        assert!(open(now).admit(now).is_none());
    }

    #[test]
    fn after_its_time_a_single_probe_decides() {
        let now = Instant::now();
        let later = now + SETTINGS.open_for;
        let mut breaker = open(now);
        assert!(breaker.is_admissible(later));
        assert!(breaker.admit(later).unwrap().is_probe);
        assert!(breaker.admit(later).is_none(), "the probe is under way");
        breaker.failed(later, &SETTINGS);
        assert_eq!(breaker.state(later), CircuitState::Open);
        let latest = later + SETTINGS.open_for;
        assert!(breaker.admit(latest).is_some());
        breaker.succeeded();
        assert_eq!(breaker.state(latest), CircuitState::Closed);
    }

    #[test]
    fn a_probe_without_outcome_leaves_the_place_to_the_next() {
        let now = Instant::now();
        let later = now + SETTINGS.open_for;
        let mut breaker = open(now);
        let probe = breaker.admit(later).unwrap();
        breaker.abandoned(probe, later);
        assert!(breaker.admit(later).is_some());
    }
}
