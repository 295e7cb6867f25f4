//! Operations that take long enough to be timed one by one.

use serde::Serialize;

use crate::bench_support::sample::{Ratio, median};

#[derive(Serialize)]
pub(crate) struct Timing {
    pub(crate) what: String,
    pub(crate) who: &'static str,
    /// Files listed or lines matched, the same in every round.
    pub(crate) found: usize,
    pub(crate) rounds_ms: Vec<f64>,
}

impl Timing {
    pub(crate) fn new(what: impl Into<String>, who: &'static str) -> Self {
        Self { what: what.into(), who, found: 0, rounds_ms: Vec::new() }
    }

    pub(crate) fn push(&mut self, Elapsed { took, found }: Elapsed) {
        self.rounds_ms.push(took.as_secs_f64() * 1000.0);
        self.found = found;
    }

    pub(crate) fn median_ms(&self) -> f64 {
        median(self.rounds_ms.clone())
    }

    /// The time one took over the time another took for the same.
    pub(crate) fn ratio(timings: &[Self], what: &str, over: &str, under: &str) -> Option<Ratio> {
        let find = |who: &str| timings.iter().find(|timing| timing.what == what && timing.who == who);
        Some(Ratio::of_pairs(&find(over)?.rounds_ms, &find(under)?.rounds_ms))
    }
}

/// One time, and what was found in it.
pub(crate) struct Elapsed {
    pub(crate) took: std::time::Duration,
    pub(crate) found: usize,
}
