//! One server under one load, round by round.

use serde::Serialize;

use crate::bench_support::process_cost::Memory;
use crate::bench_support::sample::{Ratio, Sample};

#[derive(Serialize)]
pub(crate) struct Cell {
    pub(crate) server: &'static str,
    /// Connections over HTTP, calls in flight over stdio.
    pub(crate) at_once: usize,
    pub(crate) median: Option<Sample>,
    pub(crate) rounds: Vec<Sample>,
}

impl Cell {
    pub(crate) fn new(server: &'static str, at_once: usize) -> Self {
        Self { server, at_once, median: None, rounds: Vec::new() }
    }

    pub(crate) fn push(&mut self, sample: Sample) {
        self.rounds.push(sample);
        self.median = Some(Sample::median(&self.rounds));
    }

    /// Of every round, the cores that other work took.
    pub(crate) fn others_cores(&self) -> impl Iterator<Item = f64> {
        self.rounds.iter().map(|sample| sample.others_cores)
    }

    /// Calls per second of one server over another's; `None` when either was left out of this run.
    pub(crate) fn ratio(cells: &[Self], over: &str, under: &str, at_once: usize) -> Option<Ratio> {
        let find = |server: &str| cells.iter().find(|cell| cell.server == server && cell.at_once == at_once);
        Some(Ratio::of_rates(&find(over)?.rounds, &find(under)?.rounds))
    }
}

#[derive(Serialize)]
pub(crate) struct MemoryRow {
    pub(crate) server: String,
    pub(crate) idle: Memory,
    pub(crate) after_load: Memory,
}
