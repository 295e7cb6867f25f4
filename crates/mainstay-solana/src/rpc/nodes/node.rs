//! One URL of a network: its circuit breaker, its budget, and what its answers told about it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::breaker::{Admission, Breaker, CircuitState};
use super::budget::Budget;
use crate::rpc::address::NodeUrl;
use crate::rpc::fault::Fault;
use crate::rpc::settings::BreakerSettings;

/// Whether a node serves the chain that is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Genesis {
    /// Not asked yet, or the connection broke since.
    Unverified,
    Verified,
    /// It serves another one. It is asked again after a while: the operator may have corrected it.
    Wrong {
        found: String,
        until: Instant,
    },
}

#[derive(Debug)]
struct State {
    breaker: Breaker,
    budget: Option<Budget>,
    /// Until then the node wants no requests (Retry-After).
    rests_until: Option<Instant>,
    /// How many slots it was behind, and when that was seen.
    behind: Option<(u64, Instant)>,
    genesis: Genesis,
}

/// A node and what is known about it. All calls share it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) url: NodeUrl,
    state: Mutex<State>,
    /// Held while the genesis hash is asked for, so that only one call does it.
    pub(crate) verifying: tokio::sync::Mutex<()>,
}

impl Node {
    pub(super) fn new(url: NodeUrl, requests_per_second: Option<u32>, now: Instant) -> Self {
        let state = State {
            breaker: Breaker::new(),
            budget: requests_per_second.map(|limit| Budget::new(limit, now)),
            rests_until: None,
            behind: None,
            genesis: Genesis::Unverified,
        };
        Self { url, state: Mutex::new(state), verifying: tokio::sync::Mutex::new(()) }
    }

    /// What is known about its chain. A refusal that is long ago counts as not verified.
    pub(crate) fn genesis(&self, now: Instant) -> Genesis {
        let state = self.state.lock();
        match &state.genesis {
            Genesis::Wrong { until, .. } if *until <= now => Genesis::Unverified,
            known @ (Genesis::Unverified | Genesis::Verified | Genesis::Wrong { .. }) => known.clone(),
        }
    }

    pub(crate) fn set_genesis(&self, genesis: Genesis) {
        self.state.lock().genesis = genesis;
    }

    /// How many slots it is behind its peers; `None` if it is not, or if that was seen too long ago.
    pub(crate) fn behind_by(&self, now: Instant, recheck: Duration) -> Option<u64> {
        let (slots, seen) = self.state.lock().behind?;
        (now.duration_since(seen) < recheck).then_some(slots)
    }

    pub(crate) fn set_behind(&self, slots: Option<u64>, now: Instant) {
        self.state.lock().behind = slots.map(|slots| (slots, now));
    }

    pub(crate) fn circuit(&self, now: Instant) -> CircuitState {
        self.state.lock().breaker.state(now)
    }

    pub(super) fn is_admissible(&self, now: Instant) -> bool {
        self.state.lock().breaker.is_admissible(now)
    }

    /// How long its rest and its budget make a request wait.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        let state = self.state.lock();
        let rest = state.rests_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        rest.max(state.budget.as_ref().map_or(Duration::ZERO, |budget| budget.wait(now)))
    }

    /// Lets a request through and takes it from the budget. Says how long the request has to wait for its token; `None` if
    /// the circuit is open.
    pub(crate) fn admit(&self, now: Instant) -> Option<(Permit<'_>, Duration)> {
        let mut state = self.state.lock();
        let admission = state.breaker.admit(now)?;
        let wait = state.budget.as_mut().map_or(Duration::ZERO, |budget| budget.take(now));
        Some((Permit { node: self, admission, is_settled: false }, wait))
    }
}

/// The permission for one request to a node. It ends with the outcome; dropped without one, it changes nothing.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    node: &'a Node,
    admission: Admission,
    is_settled: bool,
}

impl Permit<'_> {
    /// Records the outcome of the request, `None` for an answer: for the circuit, the rest that the node asks for, and the
    /// check of its chain.
    pub(crate) fn settle(mut self, fault: Option<&Fault>, settings: &BreakerSettings) {
        let now = Instant::now();
        let mut state = self.node.state.lock();
        match fault {
            Some(fault) if fault.counts_for_breaker() => state.breaker.failed(now, settings),
            Some(Fault::NotSentInTime) => state.breaker.abandoned(self.admission, now),
            // The node answered, even if with an error.
            Some(_) | None => state.breaker.succeeded(),
        }
        if let Some(wait) = fault.and_then(Fault::retry_after) {
            // A date far in the future would be beyond what the clock can count.
            state.rests_until = now.checked_add(wait).or(state.rests_until);
        }
        if fault.is_some_and(Fault::breaks_connection) && state.genesis == Genesis::Verified {
            state.genesis = Genesis::Unverified;
        }
        drop(state);
        self.is_settled = true;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.node.state.lock().breaker.abandoned(self.admission, Instant::now());
        }
    }
}
